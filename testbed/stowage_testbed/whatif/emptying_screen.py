"""Nodes that could be emptied, on one screen: at most 40 lines of 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from stowage_testbed.prices import HOURS_A_MONTH
from stowage_testbed.whatif.findings import Emptied, Emptying, Move, Savings
from stowage_testbed.whatif.screen_lines import (
    NODE,
    POD,
    REASONS,
    count,
    cut,
    first,
    money,
    more,
    not_judged,
    page,
    table,
)

ROWS, UNPRICED = 7, 2
"""How many nodes and moves, and nodes without a price, are shown."""


def screen_of(found: Emptying, last: str = "") -> str:
    """Return the answer, without what only `--all` and the JSON tell.

    Parameters
    ----------
    last
        What to do next.
    """
    saved = found.savings
    tail = ["All of it: --all prints it, --output FILE and --json write it as JSON."]
    return page(
        [_head(found), *(_in_money(found, saved) if saved else _in_nodes(found))],
        _nodes(found),
        _moves(found.moves),
        [*_kept(found), *not_judged(found.not_judged)],
        [*tail, last] if last else tail,
    )


def _head(found: Emptying) -> str:
    saved = found.savings
    cost = ""
    if saved:
        cost = f" They cost {money(saved.spent_an_hour, saved.currency)} an hour."
    return (
        f"{count(found.nodes, 'node')}, {found.in_use:,} in use, "
        f"{len(found.idle):,} empty but for DaemonSets.{cost}"
    )


def _in_nodes(found: Emptying) -> Iterator[str]:
    yield f"{_spare(found):>7,} more would be after {count(len(found.moves), 'move')}."
    yield f"{found.in_use - found.fewest:>7,} at most: no plan empties more, proved."
    yield from _beside(found)
    yield "Give --prices FILE or --price-label KEY to see what that saves."


def _in_money(found: Emptying, saved: Savings) -> Iterator[str]:
    def line(amount: Decimal, text: str) -> str:
        month = money(amount * HOURS_A_MONTH)
        return f"{money(amount):>12} an hour, {month:>14} a month: {text}"

    yield line(saved.idle_an_hour, "the nodes that are empty, without a move.")
    what = f"{count(_spare(found), 'node')} after {count(len(found.moves), 'move')}."
    yield line(saved.saved_an_hour, f"what can be saved: {what}")
    yield line(saved.at_most_an_hour, "no plan saves more, proved.")
    yield from _beside(found)
    if saved.without_price:
        some = [f"{cut(node, NODE)} ({why})" for node, why in saved.without_price]
        yield f"{count(len(some), 'node')} without a price, not counted in money:"
        yield f"  {first(some, UNPRICED)}."


def _beside(found: Emptying) -> Iterator[str]:
    if found.filled:
        names = [one.node for one in found.filled]
        yield f"Pods would move to empty nodes, too: {first(names, REASONS)}."
    if found.pending:
        yield (
            f"{count(found.pending, 'pod')} without a node, for which this makes no "
            "room: see stowage whatif."
        )


def _spare(found: Emptying) -> int:
    return found.in_use - found.in_use_after


def _nodes(found: Emptying) -> Iterator[str]:
    if not found.emptied:
        return
    rows = [
        (cut(one.node, 2 * NODE), _price(one), f"{one.pods:,}")
        for one in found.emptied[:ROWS]
    ]
    yield from table(
        ("node to empty", "an hour", "pods to move"), rows, ("left", "right", "right")
    )
    yield from more(len(found.emptied) - ROWS, "node")


def _moves(moves: Sequence[Move]) -> Iterator[str]:
    if not moves:
        return
    rows = [
        (cut(one.pod, POD), cut(one.from_node, NODE), cut(one.to_node, NODE))
        for one in moves[:ROWS]
    ]
    yield from table(("move", "from", "to"), rows, ("left", "left", "left"))
    yield from more(len(moves) - ROWS, "move")


def _kept(found: Emptying) -> Iterator[str]:
    if not found.kept:
        return
    rules = [
        f"{one.nodes:,} {one.rule}"
        + (f" ({money(one.an_hour)} an hour)" if found.savings else "")
        for one in found.kept
    ]
    yield f"Nodes that a rule keeps in use: {first(rules, REASONS)}."


def _price(one: Emptied) -> str:
    return "" if one.an_hour is None else money(one.an_hour)
