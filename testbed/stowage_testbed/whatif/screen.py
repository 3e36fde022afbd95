"""The answer on one screen: at most 40 lines of 100 columns, whatever the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stowage_testbed.amounts.price import price_in_words
from stowage_testbed.amounts.resources import CPU, in_bytes
from stowage_testbed.text.lines import columns, count, cut, first_of, fitted, further
from stowage_testbed.whatif.findings import (
    BESIDE,
    LIMITED,
    NOT_FOUND,
    NOT_JUDGED,
    OPEN,
    PROVED,
    TOO_LARGE,
    Findings,
    Move,
    Room,
    StillPending,
    irremovable_in_words,
)

MOVES, RESOURCES, REASONS, TIERS, STEPS, WORKLOADS = 5, 4, 2, 5, 4, 2
"""How many of each are shown; what is left out is counted."""

_POD, _NODE = 34, 20
_RESOURCE = 26
_GIB, _TIB = 2**30, 2**40


def screen(found: Findings) -> str:
    """Return the answer, without what only `--all` and the JSON tell."""
    blocks = (
        [_head(found), *_elsewhere(found), *_waiting(found), *_nodes(found)],
        list(_capacity(found.room)),
        list(_reasons(found.left)),
        list(_moves(found.moves)),
        [*irremovable_in_words(found.irremovable), *_kept(found), *_not_judged(found)],
        ["All of it: --all prints it, --output FILE and --json write it as JSON."],
    )
    return fitted(blocks)


def _head(found: Findings) -> str:
    return (
        f"{count(found.nodes, 'node')}, {count(found.running, 'running pod')}, "
        f"{count(found.pending, 'pod')} waiting for a node."
    )


def _waiting(found: Findings) -> Iterator[str]:
    if not found.pending:
        return
    tried = "."
    if found.untried:
        tried = f" at least: {found.untried:,} were not tried in time."
    yield f"{found.fits_now:>7,} of the waiting pods fit as things are{tried}"
    after = f"{found.fits_after:>7,} fit after {count(len(found.moves), 'move')}"
    if found.evictions:
        after += f" and {count(len(found.evictions), 'eviction')}"
    yield f"{after}, {_proof(found)}"
    yield from _left_aside(found)
    left = Counter[str]()
    for one in found.left:
        left[one.verdict] += one.pods
    yield from _never(left)
    within = _within(found)
    if left[LIMITED]:
        yield f"{left[LIMITED]:>7,} provably do not{within}."
    if left[OPEN]:
        yield f"{left[OPEN]:>7,} do not by the best plan; not proved of all."
    if left[NOT_FOUND]:
        late = f"were not placed{within} in time; nothing is proved."
        yield f"{left[NOT_FOUND]:>7,} {late}"
    if left[NOT_JUDGED]:
        reasons = dict.fromkeys(
            one.reason.removeprefix(f"{NOT_JUDGED}: ") for one in found.left if one.verdict == NOT_JUDGED
        )
        why = f": {first_of(tuple(reasons), 1)}" if any(reasons) else ""
        yield f"{left[NOT_JUDGED]:>7,} were not judged{why}."
    yield from _gain(found)


def _never(left: Counter[str]) -> Iterator[str]:
    reasons = ((TOO_LARGE, "larger than any node"), (PROVED, "in no plan"), (BESIDE, "not beside these"))
    never = [f"{left[name]:,} {text}" for name, text in reasons if left[name]]
    why = f": {', '.join(never)}" if never else ""
    total = sum(left[name] for name, _ in reasons)
    if total or not left.total():
        yield f"{total:>7,} provably do not{why}."


def _proof(found: Findings) -> str:
    proof = found.proof
    if not proof.holds:
        return f"the best found{_within(found)} in time; more may be possible."
    if found.proved:
        return "proved: no plan places more, nor as many with less."
    if not proof.others:
        return f"proved: no plan{_within(found)} places more, nor as many with less."
    return f"the best found{_within(found)}; that it is the best is not proved."


def _left_aside(found: Findings) -> Iterator[str]:
    proof = found.proof
    if proof.others and proof.holds:
        yield f"        It leaves aside {first_of(proof.others, 1)}."


def _within(found: Findings) -> str:
    limits = found.proof.limits
    return f" {' and '.join(limits)}" if limits else ""


def _gain(found: Findings) -> Iterator[str]:
    changes, above = [], 0
    for tier in found.tiers:
        gained = tier.after - tier.before
        if gained != above:
            changes.append(f"{gained - above:+,} of priority {tier.priority}")
        above = gained
    if changes:
        yield f"Pods with a node: {first_of(changes, TIERS)}."
    steps = found.gain_by_moves
    if len(steps) > 1:
        # The first, the last, and some between: where the curve bends is seen.
        picked = sorted({round(k * (len(steps) - 1) / (STEPS - 1)) for k in range(STEPS)})
        said = ", ".join(f"{steps[k][1]:+,} with {steps[k][0]:,}" for k in picked)
        yield f"Fewer moves gain less: {said}."


def _nodes(found: Findings) -> Iterator[str]:
    if found.used_nodes is None or found.needed_nodes is None:
        return
    moves = count(found.consolidating_moves, "move")
    if (price := found.hourly_price) is not None:
        saved = price.used_micros - price.needed_micros
        most = price.used_micros - price.least_micros
        limit = "proved the most"
        if saved != most:
            limit = f"at most {price_in_words(most)}"
        yield (
            f"{price_in_words(saved)} of {price_in_words(price.used_micros)} an hour "
            f"saved by {moves} ({limit}): {count(found.needed_nodes, 'node')} in use, "
            f"not {found.used_nodes:,}."
        )
        return
    spare = found.used_nodes - found.needed_nodes
    proof = (
        "proved to be the most"
        if found.needed_nodes == found.fewest_nodes
        else f"at most {found.used_nodes - (found.fewest_nodes or 0):,} could be"
    )
    yield (f"{count(spare, 'node')} of the {found.used_nodes:,} in use could be emptied with {moves} ({proof}).")


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
    yield from columns(
        ("capacity", "used / all", "", "free", "on nodes", "largest", "stranded"), rows, ("left", *["right"] * 6)
    )
    yield from further(len(room) - RESOURCES, "resource")


def _moves(moves: Sequence[Move]) -> Iterator[str]:
    if not moves:
        return
    rows = [
        (
            cut(one.pod, _POD),
            cut(one.from_node, _NODE),
            cut(one.to_node, _NODE),
            f"{one.admits:,}",
            "" if one.priority is None else str(one.priority),
        )
        for one in moves[:MOVES]
    ]
    yield ("Moves, those first that admit waiting pods of the highest priority, then the most of them")
    align = ("left", "left", "left", "right", "right")
    yield from columns(("pod", "from", "to", "admits", "priority"), rows, align)
    yield from further(len(moves) - MOVES, "move")


def _elsewhere(found: Findings) -> Iterator[str]:
    if found.elsewhere:
        others = [f"{one.pods:,} for {one.scheduler}" for one in found.elsewhere]
        yield f"Not counted, for they wait for other schedulers: {first_of(others, 3)}."


def _reasons(left: Sequence[StillPending]) -> Iterator[str]:
    """Yield what keeps the workloads of most pods, and what would have to change."""
    told = [one for one in left if one.after or one.now or one.changes]
    if not told:
        return
    most = sorted(told, key=lambda one: -one.pods)
    shown = f", {WORKLOADS} of {count(len(told), 'workload')}"
    yield (f"What keeps pods waiting, in the scheduler's words{shown if len(told) > WORKLOADS else ''}")
    for one in most[:WORKLOADS]:
        yield f"{one.pods:>7,} {one.workload}: {one.after or one.now or one.reason}"
        if one.changes:
            yield f"        to change: {first_of(one.changes, REASONS)}"


def _kept(found: Findings) -> Iterator[str]:
    if found.kept:
        rules = [f"{one.pods:,} {one.rule}" for one in found.kept]
        yield f"Running pods that stay: {first_of(rules, REASONS)}."


def _not_judged(found: Findings) -> Iterator[str]:
    if not found.not_judged:
        return
    counts = Counter(one.reason for one in found.not_judged)
    first = f" ({len(counts):,} reasons, the first {REASONS})"
    yield f"Not judged{first if len(counts) > REASONS else ''}:"
    for reason, number in counts.most_common(REASONS):
        yield f"  {reason}{f' ({number:,} times)' if number > 1 else ''}"


def _share(part: int, room: Room) -> str:
    return f"{100 * part / room.capacity:.1f} %" if room.capacity else ""


def _amount(room: Room, amount: int) -> str:
    if room.resource == CPU:
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    if in_bytes(room.resource):
        unit, name = (_GIB, "GiB") if amount < 1000 * _GIB else (_TIB, "TiB")
        return f"{amount / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{amount:,}"
