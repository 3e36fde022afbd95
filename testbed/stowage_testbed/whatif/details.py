"""Every finding in tables, for those who want all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from stowage_testbed.text.table import Table
from stowage_testbed.whatif.findings import Emptying, Findings, NotJudged


def tables(found: Findings | Emptying) -> tuple[Table, ...]:
    """Return the details, without those of which there are none."""
    every = _tables(found) if isinstance(found, Findings) else _alone(found)
    return tuple(table for table in every if table.rows)


def _alone(found: Emptying) -> Iterator[Table]:
    yield from _of_emptying(found)
    yield _not_judged(found.not_judged)


def _tables(found: Findings) -> Iterator[Table]:
    yield Table(
        "Moves that make room",
        ("pod", "from", "to", "makes room for waiting pods", "of priority"),
        tuple(
            (
                one.pod,
                one.from_node,
                one.to_node,
                str(one.admits or ""),
                "" if one.priority is None else str(one.priority),
            )
            for one in found.moves
        ),
    )
    yield Table(
        "Evictions, for pods of higher priority",
        ("pod",),
        tuple((name,) for name in found.evictions),
    )
    yield Table(
        "Pods with a node, of a priority and above",
        ("priority", "now", "by the plan", "at most"),
        tuple(
            (str(one.priority), str(one.before), str(one.after), str(one.at_most))
            for one in found.tiers
        ),
    )
    yield Table(
        "What fewer moves gain",
        ("moves, at most", "more pods with a node"),
        tuple((str(moves), str(gained)) for moves, gained in found.gain_by_moves),
    )
    yield Table(
        "Pods that stay pending",
        ("workload", "pods", "why", "rules in the way"),
        tuple(
            (one.workload, str(one.pods), one.reason, ", ".join(one.rules))
            for one in found.left
        ),
    )
    yield Table(
        "Running pods that stay where they are",
        ("rule", "pods", "for example"),
        tuple((one.rule, str(one.pods), one.example) for one in found.kept),
    )
    yield from _of_emptying(found.emptying)
    yield _not_judged(found.not_judged)


def _of_emptying(found: Emptying) -> Iterator[Table]:
    each = (
        ("Nodes that could be emptied", found.emptied),
        ("Nodes that are empty as things are", found.idle),
        ("Empty nodes that would get pods", found.filled),
    )
    for title, nodes in each:
        yield Table(
            title,
            ("node", "price an hour", "pods to move"),
            tuple(
                (one.node, _money(one.an_hour), str(one.pods or "")) for one in nodes
            ),
        )
    yield Table(
        "Moves that empty nodes",
        ("pod", "from", "to"),
        tuple((one.pod, one.from_node, one.to_node) for one in found.moves),
    )
    saved = found.savings
    yield Table(
        "Rules that keep nodes in use",
        ("rule", "nodes", "price an hour", "for example"),
        tuple(
            (
                one.rule,
                str(one.nodes),
                _money(one.an_hour if saved else None),
                one.example,
            )
            for one in found.kept
        ),
    )
    yield Table(
        "Nodes without a price", ("node", "why"), saved.without_price if saved else ()
    )


def _money(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:f}"


def _not_judged(found: Iterable[NotJudged]) -> Table:
    return Table(
        "Not judged",
        ("why", "what", "detail"),
        tuple((one.reason, one.subject, one.detail) for one in found),
    )
