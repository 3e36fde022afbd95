"""Every finding in tables, for those who want all of them."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.text.table import Table
from stowage_testbed.whatif.findings import Findings


def tables(found: Findings) -> tuple[Table, ...]:
    """Return the details, without those of which there are none."""
    return tuple(table for table in _tables(found) if table.rows)


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
    yield Table("Evictions, for pods of higher priority", ("pod",), tuple((name,) for name in found.evictions))
    yield Table(
        "Pods with a node, of a priority and above",
        ("priority", "now", "by the plan", "at most"),
        tuple((str(one.priority), str(one.before), str(one.after), str(one.at_most)) for one in found.tiers),
    )
    yield Table(
        "What fewer moves gain",
        ("moves, at most", "more pods with a node"),
        tuple((str(moves), str(gained)) for moves, gained in found.gain_by_moves),
    )
    yield Table(
        "Pods that stay pending",
        ("workload", "pods", "why", "rules in the way"),
        tuple((one.workload, str(one.pods), one.reason, ", ".join(one.rules)) for one in found.left),
    )
    yield Table(
        "What keeps them, in the scheduler's words",
        ("workload", "as things are", "after the plan", "what would have to change"),
        tuple((one.workload, one.now, one.after, ", ".join(one.changes)) for one in found.left),
    )
    yield Table(
        "What is proved" if found.proof.holds else "What was looked for",
        ("about", "not about"),
        ((found.proof.about, "; ".join(found.proof.not_about)),),
    )
    yield Table(
        "Pods that wait for other schedulers",
        ("scheduler", "pods"),
        tuple((one.scheduler, str(one.pods)) for one in found.elsewhere),
    )
    yield Table(
        "Running pods that stay where they are",
        ("rule", "pods", "for example"),
        tuple((one.rule, str(one.pods), one.example) for one in found.kept),
    )
    yield Table("Nodes that could be emptied", ("node",), tuple((one,) for one in found.emptied))
    yield Table(
        "Nodes that autoscalers may not remove",
        ("node", "annotation"),
        tuple((one.name, one.reason) for one in found.irremovable),
    )
    yield Table(
        "Not judged",
        ("why", "what", "detail"),
        tuple((one.reason, one.subject, one.detail) for one in found.not_judged),
    )
