"""Answers as text: a summary of at most 40 lines of 100 columns, and all of it in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from stowage_testbed.amounts.price import exact_column, month_in_words, price_in_words
from stowage_testbed.amounts.resources import CPU, in_bytes
from stowage_testbed.text.lines import columns, count, cut, first_of, fitted, further
from stowage_testbed.text.tables import Table
from stowage_testbed.whatif.findings import (
    BESIDE,
    LIMITED,
    NOT_FOUND,
    NOT_JUDGED,
    OPEN,
    PROVED,
    RESERVED,
    TOO_LARGE,
    Bill,
    Defragmentation,
    Findings,
    KindBill,
    Room,
)

MOVES, RESOURCES, REASONS, TIERS, STEPS, WORKLOADS = 5, 4, 2, 5, 4, 2
NODES, KINDS, EMPTYING_MOVES = 5, 3, 4  # How many of each a summary shows; what is left out is counted
_POD, _NODE, _KIND, _RESOURCE = 36, 24, 24, 26
_GIB, _TIB = 2**30, 2**40
_ALL = "All of it: --all prints it, --output FILE and --json write it as JSON."

Answer = Findings | Defragmentation


def screen(found: Answer) -> str:
    """Return the summary, without what only `--all` and the JSON tell."""
    if isinstance(found, Defragmentation):
        return fitted(
            (
                list(_saving(found)),
                list(_kinds(found)),
                list(_nodes_to_empty(found)),
                list(_emptying_moves(found)),
                [*_left_out(found), *_stays(found, 2 * REASONS), *_skipped(found)],
                [_ALL],
            )
        )
    head = (
        f"{count(found.nodes, 'node')}, {count(found.running, 'running pod')}, "
        f"{count(found.pending, 'pod')} waiting for a node."
    )
    others = [f"{one.pods:,} for {one.scheduler}" for one in found.elsewhere]
    elsewhere = [f"Not counted, for they wait for other schedulers: {first_of(others, 3)}."] if others else []
    return fitted(
        (
            [head, *elsewhere, *_waiting(found), *_could_be_emptied(found)],
            list(_capacity(found.room)),
            list(_reasons(found)),
            list(_moves(found)),
            [*_stays(found, REASONS), *_not_judged(found)],
            [_ALL],
        )
    )


def _waiting(found: Findings) -> Iterator[str]:
    if not found.pending:
        return
    tried = f" at least: {found.untried:,} were not tried in time." if found.untried else "."
    yield f"{found.fits_now:>7,} of the waiting pods fit as things are{tried}"
    evictions = f" and {count(len(found.evictions), 'eviction')}" if found.evictions else ""
    yield f"{found.fits_after:>7,} fit after {count(len(found.moves), 'move')}{evictions}, {_proof(found)}"
    if found.proof.others and found.proof.holds:
        yield f"        It leaves aside {first_of(found.proof.others, 1)}."
    left = Counter[str]()
    for one in found.left:
        left[one.verdict] += one.pods
    reasons = ((TOO_LARGE, "larger than any node"), (PROVED, "in no plan"), (BESIDE, "not beside these"))
    never = [f"{left[name]:,} {text}" for name, text in reasons if left[name]]
    total = sum(left[name] for name, _ in reasons)
    if total or not left.total():
        why = f": {', '.join(never)}" if never else ""
        yield f"{total:>7,} provably do not{why}."
    within = _within(found)
    if left[LIMITED]:
        yield f"{left[LIMITED]:>7,} provably do not{within}."
    if left[OPEN]:
        yield f"{left[OPEN]:>7,} do not by the best plan; not proved of all."
    if left[NOT_FOUND]:
        yield f"{left[NOT_FOUND]:>7,} were not placed{within} in time; nothing is proved."
    if left[NOT_JUDGED]:
        unjudged = [one.reason for one in found.left if one.verdict == NOT_JUDGED]
        told = tuple(dict.fromkeys(one.removeprefix(f"{NOT_JUDGED}: ") for one in unjudged))
        yield f"{left[NOT_JUDGED]:>7,} were not judged{f': {first_of(told, 1)}' if any(told) else ''}."
    yield from _gain(found)


def _proof(found: Findings) -> str:
    within = _within(found)
    if not found.proof.holds:
        return f"the best found{within} in time; more may be possible."
    if found.proved:
        return "proved: no plan places more, nor as many with less."
    if not found.proof.others:
        return f"proved: no plan{within} places more, nor as many with less."
    return f"the best found{within}; that it is the best is not proved."


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


def _could_be_emptied(found: Findings) -> Iterator[str]:
    if found.used_nodes is None or found.needed_nodes is None:
        return
    moves = count(found.consolidating_moves, "move")
    if (price := found.hourly_price) is not None:
        saved, most = price.used_micros - price.needed_micros, price.used_micros - price.least_micros
        limit = "proved the most" if saved == most else f"at most {price_in_words(most)}"
        yield (
            f"{price_in_words(saved)} of {price_in_words(price.used_micros)} an hour "
            f"saved by {moves} ({limit}): {count(found.needed_nodes, 'node')} in use, "
            f"not {found.used_nodes:,}."
        )
        return
    proved = found.needed_nodes == found.fewest_nodes
    most_nodes = found.used_nodes - (found.fewest_nodes or 0)
    limit = "proved to be the most" if proved else f"at most {most_nodes:,} could be"
    spare = count(found.used_nodes - found.needed_nodes, "node")
    yield f"{spare} of the {found.used_nodes:,} in use could be emptied with {moves} ({limit})."


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
    if rows:
        headers = ("capacity", "used / all", "", "free", "on nodes", "largest", "stranded")
        yield from columns(headers, rows, ("left", *["right"] * 6))
        yield from further(len(room) - RESOURCES, "resource")


def _share(part: int, room: Room) -> str:
    return f"{100 * part / room.capacity:.1f} %" if room.capacity else ""


def _amount(room: Room, amount: int) -> str:
    if room.resource == CPU:
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    if in_bytes(room.resource):
        unit, name = (_GIB, "GiB") if amount < 1000 * _GIB else (_TIB, "TiB")
        return f"{amount / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{amount:,}"


def _reasons(found: Findings) -> Iterator[str]:
    """Yield what keeps the workloads of most pods, and what would have to change."""
    told = sorted((one for one in found.left if one.after or one.now or one.changes), key=lambda one: -one.pods)
    if told:
        shown = f", {WORKLOADS} of {count(len(told), 'workload')}" if len(told) > WORKLOADS else ""
        yield f"What keeps pods waiting, in the scheduler's words{shown}"
    for one in told[:WORKLOADS]:
        yield f"{one.pods:>7,} {one.workload}: {one.after or one.now or one.reason}"
        if one.changes:
            yield f"        to change: {first_of(one.changes, REASONS)}"


def _moves(found: Findings) -> Iterator[str]:
    rows = [
        (
            cut(one.pod, _POD - 2),
            cut(one.from_node, _NODE - 4),
            cut(one.to_node, _NODE - 4),
            f"{one.admits:,}",
            "" if one.priority is None else str(one.priority),
        )
        for one in found.moves[:MOVES]
    ]
    if rows:
        yield "Moves, those first that admit waiting pods of the highest priority, then the most of them"
        yield from columns(("pod", "from", "to", "admits", "priority"), rows, (*["left"] * 3, "right", "right"))
        yield from further(len(found.moves) - MOVES, "move")


def _not_judged(found: Findings) -> Iterator[str]:
    counts = Counter(one.reason for one in found.not_judged)
    if counts:
        yield f"Not judged{f' ({len(counts):,} reasons, the first {REASONS})' if len(counts) > REASONS else ''}:"
    for reason, number in counts.most_common(REASONS):
        yield f"  {reason}{f' ({number:,} times)' if number > 1 else ''}"


def _stays(found: Answer, reasons: int) -> Iterator[str]:
    """Yield which nodes stay in use whatever runs there, and what keeps running pods."""
    for reason in dict.fromkeys(one.reason for one in found.irremovable):
        names = [one.name for one in found.irremovable if one.reason == reason]
        yield f"Nodes that stay by {reason}: {first_of(names, REASONS)}."
    if found.kept:
        yield f"Running pods that stay: {first_of([f'{one.pods:,} {one.rule}' for one in found.kept], reasons)}."


def _saving(found: Defragmentation) -> Iterator[str]:
    used, micros = f"{found.before.nodes:,} of {count(found.nodes, 'node')} in use", found.before.hourly_micros
    if found.priced:
        yield f"{used}, which cost {price_in_words(micros)} an hour ({month_in_words(micros)} a month)."
    else:
        yield f"{used}; no price is known: give some with --prices or --price."
    if not found.in_time:
        yield "There was no time left to look for a plan: give --time-limit-s more."
    elif not found.emptied:
        yield "No node could be emptied by the best plan found."
    else:
        yield f"{count(len(found.emptied), 'node')} could be emptied with {count(len(found.moves()), 'move')}."
        if found.priced:
            saved, share = found.saved_micros, 100 * found.saved_micros / micros
            yield f"That saves {price_in_words(saved)} an hour ({month_in_words(saved)} a month, {share:.1f} %)."
    if found.in_time:
        yield from _limit(found)
    if found.certainty is not None:
        number, reserved = len(found.moves()), found.certainty == RESERVED
        one = "its replacement" if reserved else "the replacement"
        them = one if number == 1 else f"all {number:,} replacements"
        if reserved:
            yield f"Reserved: the scheduler holds room for {them}, and steers them there."
        else:
            yield f"Rehearsed: the scheduler itself found a place for {them}; nothing is held."
    if found.opened:
        number_idle = count(len(found.opened), "idle node")
        yield f"{number_idle} would be taken into use, for less: {first_of(found.opened, REASONS)}."


def _limit(found: Defragmentation) -> Iterator[str]:
    aside = f", leaving aside {first_of(found.aside, 1)}" if found.aside else ""
    plan = " ".join(["no plan", " and ".join(found.limits)]).rstrip()
    if found.proved:
        what = "saves more" if found.priced else "empties more"
    elif found.priced:
        what = f"saves more than {price_in_words(found.most_saved_micros)} an hour"
    else:
        what = f"empties more than {count(found.before.nodes - found.least.nodes, 'node')}"
    yield f"Proved{aside}: {plan} {what}."


def _kinds(found: Defragmentation) -> Iterator[str]:
    """Yield what the nodes in use cost by kind, where there are several; sums are exact."""
    if found.priced and len(found.kinds) > 1:
        shown, others = list(found.kinds[:KINDS]), found.kinds[KINDS:]
        if others:
            shown.append(_together(f"{len(others):,} further kinds", others))
        rows = [(cut(row[0], _KIND), *row[1:]) for row in _kind_rows(found, shown)]
        yield from columns(("kind", "nodes", "each", "an hour", "emptied", "saved"), rows, ("left", *["right"] * 5))


def _kind_rows(found: Defragmentation, kinds: Sequence[KindBill]) -> list[tuple[str, ...]]:
    lines = [*kinds, _together("all", found.kinds)]
    saved = [one.emptied.hourly_micros for one in lines]
    if found.opened:
        # The saving is less by what these cost.
        opened = Bill(len(found.opened), found.saved_micros - saved[-1])
        lines.append(KindBill("idle nodes taken into use", Bill(0, 0), opened, None))
        saved.append(opened.hourly_micros)
    return list(
        zip(
            (one.kind for one in lines),
            (f"{one.used.nodes:,}" if one.used.nodes else "" for one in lines),
            exact_column([one.each_micros or 0 for one in lines]),
            exact_column([one.used.hourly_micros for one in lines]),
            (f"{one.emptied.nodes:,}" if one.emptied.nodes else "" for one in lines),
            exact_column(saved),
            strict=True,
        )
    )


def _together(name: str, kinds: Sequence[KindBill]) -> KindBill:
    def total(bills: Sequence[Bill]) -> Bill:
        return Bill(sum(one.nodes for one in bills), sum(one.hourly_micros for one in bills))

    return KindBill(name, total([one.used for one in kinds]), total([one.emptied for one in kinds]), None)


def _nodes_to_empty(found: Defragmentation) -> Iterator[str]:
    shown = found.emptied[:NODES]
    prices = [one.hourly_micros for one in shown]
    rows = [
        (cut(one.name, _NODE + 6), cut(one.kind, _KIND), price, f"{len(one.moves):,}", f"{one.gain:.2f}", so_far)
        for one, price, so_far in zip(shown, exact_column(prices), exact_column(list(accumulate(prices))), strict=True)
    ]
    if rows:
        yield "Nodes to empty, those with the best gain first"
        headers = ("node", "kind", "an hour", "moves", "gain", "together")
        yield from columns(headers, rows, ("left", "left", *["right"] * 4))
        yield from further(len(found.emptied) - NODES, "node")


def _emptying_moves(found: Defragmentation) -> Iterator[str]:
    moves = found.moves()
    if moves:
        yield "Moves, in their order"
        rows = [
            (cut(one.pod, _POD + 4), cut(one.from_node, _NODE + 4), cut(one.to_node, _NODE + 4))
            for one in moves[:EMPTYING_MOVES]
        ]
        yield from columns(("pod", "from", "to"), rows, ("left",) * 3)
        yield from further(len(moves) - EMPTYING_MOVES, "move")


def _left_out(found: Defragmentation) -> Iterator[str]:
    for why, number in Counter(one.why for one in found.left_out).items():
        first = next(one for one in found.left_out if one.why == why)
        left = "Left as it is" if number == 1 else "Left as they are"
        yield f"{left}, {why}: {count(number, 'node')}"
        yield f"    {cut(first.node, _NODE + 6)}: {first.detail}"
    if found.without_price:
        yield f"Without a price, and left as they are: {first_of(found.without_price, REASONS)}."


def _skipped(found: Defragmentation) -> Iterator[str]:
    reasons = tuple(dict.fromkeys(one.reason for one in found.not_judged))
    if reasons:
        yield f"Not judged: {first_of(reasons, REASONS)}."


def tables(found: Answer) -> tuple[Table, ...]:
    """Return every finding, without tables that have no rows."""
    own = _tables_of_nodes(found) if isinstance(found, Defragmentation) else _tables_of_pods(found)
    every = (
        *own,
        ("Nodes that autoscalers may not remove", "node| annotation", _rows(found.irremovable, "name", "reason")),
        ("Not judged", "why| what| detail", _rows(found.not_judged, "reason", "subject", "detail")),
    )
    return tuple(Table(title, tuple(headers.split("| ")), tuple(rows)) for title, headers, rows in every if rows)


_Described = tuple[str, str, Sequence[tuple[str, ...]]]  # A title, headers with lines between, and rows


def _rows(items: Iterable[object], *names: str) -> list[tuple[str, ...]]:
    """Return a row for each item, of its attributes."""

    def cell(value: object) -> str:
        return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)

    return [tuple(cell(getattr(item, name)) for name in names) for item in items]


def _tables_of_pods(found: Findings) -> Iterator[_Described]:
    moves = _rows(found.moves, "pod", "from_node", "to_node", "admits", "priority")
    yield "Moves that make room", "pod| from| to| makes room for waiting pods| of priority", moves
    yield "Evictions, for pods of higher priority", "pod", [(name,) for name in found.evictions]
    tiers = _rows(found.tiers, "priority", "before", "after", "at_most")
    yield "Pods with a node, of a priority and above", "priority| now| by the plan| at most", tiers
    steps = [(str(moves), str(gained)) for moves, gained in found.gain_by_moves]
    yield "What fewer moves gain", "moves, at most| more pods with a node", steps
    left = _rows(found.left, "workload", "pods", "reason", "rules")
    yield "Pods that stay pending", "workload| pods| why| rules in the way", left
    reasons = _rows(found.left, "workload", "now", "after", "changes")
    headers = "workload| as things are| after the plan| what would have to change"
    yield "What keeps them, in the scheduler's words", headers, reasons
    proof = [(found.proof.about, "; ".join(found.proof.not_about))]
    yield "What is proved" if found.proof.holds else "What was looked for", "about| not about", proof
    yield "Pods that wait for other schedulers", "scheduler| pods", _rows(found.elsewhere, "scheduler", "pods")
    yield _kept_table(found)
    yield "Nodes that could be emptied", "node", [(one,) for one in found.emptied]


def _tables_of_nodes(found: Defragmentation) -> Iterator[_Described]:
    headers = "kind| nodes| each| an hour| emptied| saved"
    yield "Nodes in use, by kind", headers, _kind_rows(found, found.kinds)
    prices = exact_column([one.hourly_micros for one in found.emptied])
    emptied = [
        (one.name, one.kind, price, str(len(one.moves)), str(one.gain))
        for one, price in zip(found.emptied, prices, strict=True)
    ]
    yield "Nodes to empty", "node| kind| an hour| moves| gain", emptied
    yield "Moves, in their order", "pod| from| to", _rows(found.moves(), "pod", "from_node", "to_node")
    left_out = _rows(found.left_out, "node", "why", "detail", "gain")
    yield "Nodes that are left as they are", "node| why| detail| gain", left_out
    yield "Idle nodes that are taken into use", "node", [(one,) for one in found.opened]
    yield "Nodes in use without a price", "node", [(one,) for one in found.without_price]
    yield _kept_table(found)


def _kept_table(found: Answer) -> _Described:
    rows = _rows(found.kept, "rule", "pods", "example")
    return "Running pods that stay where they are", "rule| pods| for example", rows
