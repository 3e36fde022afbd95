"""Answers as text: a summary of at most 40 lines of 100 columns, and all of it in tables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from stowage_testbed.amounts.price import exact_column, month_in_words, price_in_words
from stowage_testbed.amounts.resources import in_bytes, in_milli
from stowage_testbed.text.tables import Table, count, cut, first_of, fitted, plain_table
from stowage_testbed.whatif.findings import Bill, Defragmentation, Findings, KindBill, Room, WaitingGang

MOVES, RESOURCES, STEPS = 5, 4, 4
NODES, KINDS, EMPTYING_MOVES = 5, 3, 4  # How many of each a summary shows; what is left out is counted
_POD, _NODE, _KIND, _RESOURCE = 36, 24, 24, 26
_GIB, _TIB = 2**30, 2**40
_ALL = "All of it: --all prints it, --output FILE and --json write it as JSON."

Answer = Findings | Defragmentation


def screen(found: Answer) -> str:
    """Return the summary, without what only `--all` and the JSON tell."""
    kept = [f"{one.pods:,} {one.rule}" for one in found.kept]
    if isinstance(found, Defragmentation):
        template, values = "defragment", {**_emptying(found), "most_rules": 4}
    else:
        template, values = "whatif", {**_placing(found), "most_rules": 2}
    summary = _environment().get_template(f"whatif/{template}.txt.j2").render(found=found, kept=kept, **values)
    return fitted(f"{summary}\n\n{_ALL}")


@cache
def _environment() -> Environment:
    made = Environment(  # noqa: S701 - text for a terminal, which `fitted` makes plain
        loader=PackageLoader("stowage_testbed", ""), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(
        count=count,
        cut=cut,
        first_of=first_of,
        in_cents=price_in_words,
        month=month_in_words,
        number="{:,}".format,
        pods="{:>7,}".format,
    )
    return made


def _placing(found: Findings) -> Mapping[str, Any]:
    left = Counter[str]()
    for one in found.left:
        left[one.verdict] += one.pods
    fit_nowhere = {"too large": "larger than any node", "proved": "in no plan", "beside": "not beside these"}
    unjudged = (one.reason.removeprefix("not judged: ") for one in found.left if one.verdict == "not judged")
    gained = [tier.after - tier.before for tier in found.tiers]
    own = [gain - above for gain, above in zip(gained, [0, *gained], strict=False)]
    # The first, the last, and some between: where the curve bends is seen.
    curve = found.gain_by_moves
    steps = sorted({round(k * (len(curve) - 1) / (STEPS - 1)) for k in range(STEPS)}) if len(curve) > 1 else []
    blocked = [one for one in found.left if one.after or one.now or one.changes]
    return {
        "gangs": _gangs(found.gangs),
        "elsewhere": [f"{one.pods:,} for {one.scheduler}" for one in found.elsewhere],
        "left": left,
        "never": [f"{left[verdict]:,} {text}" for verdict, text in fit_nowhere.items() if left[verdict]],
        "never_fit": sum(left[verdict] for verdict in fit_nowhere),
        "unjudged": list(filter(None, dict.fromkeys(unjudged))),
        "gained": [f"{k:+,} of priority {tier.priority}" for k, tier in zip(own, found.tiers, strict=True) if k],
        "fewer_moves": [f"{gain:+,} with {moves:,}" for moves, gain in map(curve.__getitem__, steps)],
        "capacity": _listed(
            "capacity| used / all| | free| on nodes| largest| stranded",
            (_RESOURCE,),
            map(_capacity, found.room[:RESOURCES]),
            len(found.room),
            "resource",
        ),
        "blocked": sorted(blocked, key=lambda one: -one.pods),
        # Two lines are of gangs then.
        "most_blocked": 1 if found.gangs else 2,
        "moves": _listed(
            "pod| from| to| admits| priority",
            (_POD - 2, _NODE - 4, _NODE - 4),
            _rows(found.moves[:MOVES], "pod", "from_node", "to_node", "admits:,", "priority"),
            len(found.moves),
            "move",
        ),
        "reasons": Counter(one.reason for one in found.not_judged).most_common(),
    }


def _gangs(gangs: Sequence[WaitingGang]) -> str:
    """Return how many gangs that wait are placed, and how, and the first that the plan places; empty without any."""
    if not gangs:
        return ""
    now = [one for one in gangs if one.now >= one.needs]
    planned = [one for one in gangs if one.now < one.needs <= one.after]
    left = len(gangs) - len(now) - len(planned)
    parts = ((len(now), "as things are"), (len(planned), "by the plan"), (left, "not"))
    said = [f"Gangs that wait, placed whole: {', '.join(f'{number:,} {how}' for number, how in parts if number)}."]
    for one in planned[:1]:
        after = " and ".join(count(n, what) for n, what in ((one.moves, "move"), (one.evictions, "eviction")) if n)
        said.append(f"        {cut(one.gang, _POD)}: {count(one.after, 'pod')}{after and f' after {after}'}")
    return "\n".join(said)


def _listed(headers: str, widths: Sequence[int], rows: Iterable[Sequence[str]], number: int, what: str) -> str:
    """Return rows under headers, the first columns cut to these widths, and how many rows of that number are left."""
    names, texts = headers.split("| "), len(widths)
    shown = [(*map(cut, row, widths), *row[texts:]) for row in rows]
    aligned = ["left"] * texts + ["right"] * (len(names) - texts)
    lines = plain_table(names, shown, aligned).split("\n") if shown else []
    further = number - len(shown)
    return "\n".join((*lines, *([f"... and {count(further, f'further {what}')}"] if further > 0 else ())))


def _capacity(one: Room) -> tuple[str, ...]:
    return (
        one.resource,
        f"{_amount(one, one.capacity - one.free)} / {_amount(one, one.capacity)}",
        _share(one.capacity - one.free, one),
        _amount(one, one.free),
        f"{one.free_nodes:,}",
        _amount(one, one.largest_free),
        "" if one.stranded is None else _share(one.stranded, one),
    )


def _share(part: int, room: Room) -> str:
    return f"{100 * part / room.capacity:.1f} %" if room.capacity else ""


def _amount(room: Room, amount: int) -> str:
    if in_milli(room.resource):
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    if in_bytes(room.resource):
        unit, name = (_GIB, "GiB") if amount < 1000 * _GIB else (_TIB, "TiB")
        return f"{amount / unit:,.1f}".removesuffix(".0") + f" {name}"
    return f"{amount:,}"


def _emptying(found: Defragmentation) -> Mapping[str, Any]:
    shown, others = list(found.kinds[:KINDS]), found.kinds[KINDS:]
    if others:
        shown.append(_together(f"{len(others):,} further kinds", others))
    # One kind says nothing that the summary does not.
    kinds = _kind_rows(found, shown) if found.priced and len(found.kinds) > 1 else []
    emptied, moves = found.emptied[:NODES], found.moves()
    prices = [one.hourly_micros for one in emptied]
    nodes = zip(emptied, exact_column(prices), exact_column(list(accumulate(prices))), strict=True)
    return {
        "hourly": found.before.hourly_micros,
        "kinds": _listed("kind| nodes| each| an hour| emptied| saved", (_KIND,), kinds, len(kinds), "kind"),
        "nodes": _listed(
            "node| kind| an hour| moves| gain| together",
            (_NODE + 6, _KIND),
            ((one.name, one.kind, price, f"{len(one.moves):,}", f"{one.gain:.2f}", sums) for one, price, sums in nodes),
            len(found.emptied),
            "node",
        ),
        "moves": _listed(
            "pod| from| to",
            (_POD + 4, _NODE + 4, _NODE + 4),
            _rows(moves[:EMPTYING_MOVES], "pod", "from_node", "to_node"),
            len(moves),
            "move",
        ),
    }


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


def tables(found: Answer) -> tuple[Table, ...]:
    """Return every finding, without tables that have no rows."""
    own = _tables_of_nodes(found) if isinstance(found, Defragmentation) else _tables_of_pods(found)
    every = (
        *own,
        ("Nodes that autoscalers may not remove", "node| annotation", _rows(found.irremovable, "name", "reason")),
        ("Not evaluated", "why| what| detail", _rows(found.not_judged, "reason", "subject", "detail")),
    )
    return tuple(Table(title, tuple(headers.split("| ")), tuple(rows)) for title, headers, rows in every if rows)


_Described = tuple[str, str, Sequence[tuple[str, ...]]]  # A title, headers with lines between, and rows


def _rows(items: Iterable[object], *names: str) -> list[tuple[str, ...]]:
    """Return a row for each item, of its attributes, which may have a format: ``admits:,``."""

    def cell(item: object, name: str) -> str:
        attribute, _, form = name.partition(":")
        value = getattr(item, attribute)
        return ", ".join(value) if isinstance(value, tuple) else "" if value is None else format(value, form)

    return [tuple(cell(item, name) for name in names) for item in items]


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
    gangs = _rows(found.gangs, "gang", "pods", "needs", "before", "now", "after", "moves", "evictions", "reason")
    headers = "gang| pods| needs| with a node| as things are| by the plan| moves| evictions| why it waits"
    yield "Gangs that wait", headers, gangs
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
