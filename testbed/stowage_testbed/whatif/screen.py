"""The answer on one screen: at most 40 lines of 100 columns, whatever the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stowage_testbed.whatif.findings import (
    NOT_FOUND,
    NOT_JUDGED,
    PROVED,
    TOO_LARGE,
    Findings,
    Move,
    Room,
)
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

MOVES, RESOURCES, TIERS, STEPS = 10, 5, 5, 4
"""How many of each are shown; what is left out is counted."""

_RESOURCE = 26
_GIB, _TIB = 2**30, 2**40


def screen(found: Findings) -> str:
    """Return the answer, without what only `--all` and the JSON tell."""
    return page(
        [_head(found), *_waiting(found), *_nodes(found)],
        _capacity(found.room),
        _moves(found.moves),
        [*_kept(found), *not_judged(found.not_judged)],
        ["All of it: --all prints it, --output FILE and --json write it as JSON."],
    )


def _head(found: Findings) -> str:
    return (
        f"{count(found.nodes, 'node')}, {count(found.running, 'running pod')}, "
        f"{count(found.pending, 'pod')} waiting for a node."
    )


def _waiting(found: Findings) -> Iterator[str]:
    if not found.pending:
        return
    yield f"{found.fits_now:>7,} of the waiting pods fit as things are."
    after = f"{found.fits_after:>7,} fit after {count(len(found.moves), 'move')}"
    if found.evictions:
        after += f" and {count(len(found.evictions), 'eviction')}"
    yield f"{after}, {_proof(found)}"
    left = Counter[str]()
    for one in found.left:
        left[one.verdict] += one.pods
    reasons = (
        (TOO_LARGE, "larger than any node"),
        (PROVED, "for whom no plan has room beside these"),
    )
    never = [f"{left[name]:,} {text}" for name, text in reasons if left[name]]
    why = f": {', '.join(never)}" if never else ""
    yield f"{left[TOO_LARGE] + left[PROVED]:>7,} provably do not{why}."
    if left[NOT_FOUND]:
        yield f"{left[NOT_FOUND]:>7,} were not placed in time; nothing is proved."
    if left[NOT_JUDGED]:
        yield f"{left[NOT_JUDGED]:>7,} were not judged."
    yield from _gain(found)


def _proof(found: Findings) -> str:
    if found.proved:
        return "proved: no plan places more, nor as many with less."
    return "the best found in time; more may be possible."


def _gain(found: Findings) -> Iterator[str]:
    changes, above = [], 0
    for tier in found.tiers:
        gained = tier.after - tier.before
        if gained != above:
            changes.append(f"{gained - above:+,} of priority {tier.priority}")
        above = gained
    if changes:
        yield f"Pods with a node: {first(changes, TIERS)}."
    steps = found.gain_by_moves
    if len(steps) > 1:
        # The first, the last, and some between: where the curve bends is seen.
        picked = sorted(
            {round(k * (len(steps) - 1) / (STEPS - 1)) for k in range(STEPS)}
        )
        said = ", ".join(f"{steps[k][1]:+,} with {steps[k][0]:,}" for k in picked)
        yield f"Fewer moves gain less: {said}."


def _nodes(found: Findings) -> Iterator[str]:
    """Yield how many nodes could be emptied, and what that is worth."""
    there = found.emptying
    spare, most = there.in_use - there.in_use_after, there.in_use - there.fewest
    proof = "proved to be the most" if spare == most else f"at most {most:,} could be"
    yield (
        f"{count(spare, 'node')} of the {there.in_use:,} in use could be emptied "
        f"with {count(len(there.moves), 'move')} ({proof})."
    )
    saved = there.savings
    if saved:
        unpriced = len(saved.without_price)
        yield (
            f"That saves {money(saved.saved_an_hour, saved.currency)} an hour, "
            f"{money(saved.saved_a_month)} a month; no plan saves over "
            f"{money(saved.at_most_an_hour)} an hour."
            + (f" {unpriced:,} without a price." if unpriced else "")
        )


def _capacity(room: Sequence[Room]) -> Iterator[str]:
    rows = [
        (
            cut(one.resource, _RESOURCE),
            f"{_amount(one, one.capacity - one.free)} / {_amount(one, one.capacity)}",
            _share(one.capacity - one.free, one),
            _amount(one, one.free),
            f"{one.free_nodes:,}",
            _amount(one, one.largest_free),
            _share(one.stranded, one),
        )
        for one in room[:RESOURCES]
    ]
    if not rows:
        return
    yield from table(
        ("capacity", "used / all", "", "free", "on nodes", "largest", "stranded"),
        rows,
        ("left", *["right"] * 6),
    )
    yield from more(len(room) - RESOURCES, "resource")


def _moves(moves: Sequence[Move]) -> Iterator[str]:
    if not moves:
        return
    rows = [
        (
            cut(one.pod, POD),
            cut(one.from_node, NODE),
            cut(one.to_node, NODE),
            f"{one.admits:,}",
            "" if one.priority is None else str(one.priority),
        )
        for one in moves[:MOVES]
    ]
    yield (
        "Moves, those first that admit waiting pods of the highest priority, then the "
        "most of them"
    )
    align = ("left", "left", "left", "right", "right")
    yield from table(("pod", "from", "to", "admits", "priority"), rows, align)
    yield from more(len(moves) - MOVES, "move")


def _kept(found: Findings) -> Iterator[str]:
    if found.kept:
        rules = [f"{one.pods:,} {one.rule}" for one in found.kept]
        yield f"Running pods that stay by a rule: {first(rules, REASONS)}."


def _share(part: int, room: Room) -> str:
    return f"{100 * part / room.capacity:.1f} %" if room.capacity else ""


def _amount(room: Room, amount: int) -> str:
    if room.resource == "cpu":
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    if room.resource == "memory" or room.resource.startswith("hugepages-"):
        unit, name = (_GIB, "GiB") if amount < 1000 * _GIB else (_TIB, "TiB")
        return f"{amount / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{amount:,}"
