"""Which nodes could be emptied, on one screen; and all of it in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from stowage_testbed.amounts.price import exact_column, month_in_words, price_in_words
from stowage_testbed.defragment.findings import RESERVED, Defragmentation, EmptiedNode, PodMove
from stowage_testbed.text.lines import columns, count, cut, first_of, fitted, further
from stowage_testbed.text.table import Table
from stowage_testbed.whatif.findings import irremovable_in_words

NODES, MOVES, REASONS = 12, 5, 2
"""How many of each are shown; what is left out is counted."""

_NAME, _KIND, _POD = 30, 24, 40


def screen(found: Defragmentation) -> str:
    """Return the answer, without what only `--all` and the JSON tell."""
    return fitted(
        (
            [*head(found), *saving(found), *proof(found), *_certainty(found), *_opened(found)],
            list(_nodes(found.emptied)),
            list(_moves(found.moves())),
            [*_left_out(found), *limits_of(found)],
            ["All of it: --all prints it, --output FILE and --json write it as JSON."],
        )
    )


def head(found: Defragmentation) -> Iterator[str]:
    """Yield what there is, and what it costs."""
    used = f"{found.before.nodes:,} of {count(found.nodes, 'node')} in use"
    if not found.priced:
        yield f"{used}; no price is known: give some with --prices or --price."
        return
    micros = found.before.hourly_micros
    yield (f"{used}, which cost {price_in_words(micros)} an hour ({month_in_words(micros)} a month).")


def saving(found: Defragmentation) -> Iterator[str]:
    """Yield what the plan would save."""
    if not found.in_time:
        yield "There was no time left to look for a plan: give --time-limit-s more."
        return
    if not found.emptied:
        yield "No node could be emptied by the best plan found."
        return
    moves = count(len(found.moves()), "move")
    yield f"{count(len(found.emptied), 'node')} could be emptied with {moves}."
    if not found.priced:
        return
    saved = found.saved_micros
    share = 100 * saved / found.before.hourly_micros
    yield (f"That saves {price_in_words(saved)} an hour ({month_in_words(saved)} a month, {share:.1f} %).")


def proof(found: Defragmentation) -> Iterator[str]:
    """Yield the proved limit beside it."""
    if not found.in_time:
        return
    aside = f", leaving aside {first_of(found.aside, 1)}" if found.aside else ""
    plan = " ".join(["no plan", " and ".join(found.limits)]).rstrip()
    if found.proved:
        what = "saves more" if found.priced else "empties more"
        yield f"Proved{aside}: {plan} {what}."
    elif found.priced:
        most = price_in_words(found.most_saved_micros)
        yield f"Proved{aside}: {plan} saves more than {most} an hour."
    else:
        most_nodes = found.before.nodes - found.least.nodes
        yield f"Proved{aside}: {plan} empties more than {count(most_nodes, 'node')}."


def _certainty(found: Defragmentation) -> Iterator[str]:
    if found.certainty is None:
        return
    number = len(found.moves())
    if found.certainty == RESERVED:
        rooms = "its replacement" if number == 1 else f"all {number:,} replacements"
        yield f"Reserved: the scheduler holds room for {rooms}, and steers them there."
        return
    places = "the replacement" if number == 1 else f"all {number:,} replacements"
    yield (f"Rehearsed: the scheduler itself found a place for {places}; nothing is held.")


def _opened(found: Defragmentation) -> Iterator[str]:
    if found.opened:
        yield (
            f"{count(len(found.opened), 'idle node')} would be taken into use, for "
            f"less: {first_of(found.opened, REASONS)}."
        )


def _nodes(emptied: Sequence[EmptiedNode]) -> Iterator[str]:
    if not emptied:
        return
    shown = emptied[:NODES]
    prices = [one.hourly_micros for one in shown]
    rows = [
        (cut(one.name, _NAME), cut(one.kind, _KIND), price, f"{len(one.moves):,}", f"{one.gain:.2f}", so_far)
        for one, price, so_far in zip(shown, exact_column(prices), exact_column(list(accumulate(prices))), strict=True)
    ]
    yield "Nodes to empty, those with the best gain first"
    yield from columns(("node", "kind", "an hour", "moves", "gain", "together"), rows, ("left", "left", *["right"] * 4))
    yield from further(len(emptied) - NODES, "node")


def _moves(moves: Sequence[PodMove]) -> Iterator[str]:
    if not moves:
        return
    rows = [(cut(one.pod, _POD), cut(one.from_node, _NAME), cut(one.to_node, _NAME)) for one in moves[:MOVES]]
    yield "Moves, in their order"
    yield from columns(("pod", "from", "to"), rows, ("left",) * 3)
    yield from further(len(moves) - MOVES, "move")


def _left_out(found: Defragmentation) -> Iterator[str]:
    for why, number in Counter(one.why for one in found.left_out).items():
        first = next(one for one in found.left_out if one.why == why)
        left = "Left as it is" if number == 1 else "Left as they are"
        yield f"{left}, {why}: {count(number, 'node')}"
        yield f"    {cut(first.node, _NAME)}: {first.detail}"


def limits_of(found: Defragmentation) -> Iterator[str]:
    """Yield what stays, what has no price and what was not judged."""
    if found.without_price:
        nodes = first_of(found.without_price, REASONS)
        yield f"Without a price, and left as they are: {nodes}."
    yield from irremovable_in_words(found.irremovable)
    if found.kept:
        rules = [f"{one.pods:,} {one.rule}" for one in found.kept]
        yield f"Running pods that stay: {first_of(rules, 2 * REASONS)}."
    reasons = tuple(dict.fromkeys(one.reason for one in found.not_judged))
    if reasons:
        yield f"Not judged: {first_of(reasons, REASONS)}."


def tables(found: Defragmentation) -> tuple[Table, ...]:
    """Return the details, without those of which there are none."""
    return tuple(table for table in _tables(found) if table.rows)


def _tables(found: Defragmentation) -> Iterator[Table]:
    yield Table(
        "Nodes to empty",
        ("node", "kind", "an hour", "moves", "gain"),
        tuple(
            (one.name, one.kind, price, str(len(one.moves)), str(one.gain))
            for one, price in zip(
                found.emptied, exact_column([one.hourly_micros for one in found.emptied]), strict=True
            )
        ),
    )
    yield Table(
        "Moves, in their order",
        ("pod", "from", "to"),
        tuple((one.pod, one.from_node, one.to_node) for one in found.moves()),
    )
    yield Table(
        "Nodes that are left as they are",
        ("node", "why", "detail", "gain"),
        tuple((one.node, one.why, one.detail, str(one.gain)) for one in found.left_out),
    )
    yield Table("Idle nodes that are taken into use", ("node",), tuple((one,) for one in found.opened))
    yield Table("Nodes in use without a price", ("node",), tuple((one,) for one in found.without_price))
    yield Table(
        "Running pods that stay where they are",
        ("rule", "pods", "for example"),
        tuple((one.rule, str(one.pods), one.example) for one in found.kept),
    )
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
