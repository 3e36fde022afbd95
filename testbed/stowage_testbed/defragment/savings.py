"""What the nodes in use cost, by kind, and what of it could be saved; on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_testbed.amounts.price import exact_column
from stowage_testbed.defragment.findings import Bill, Defragmentation, KindBill
from stowage_testbed.defragment.screen import head, limits_of, proof, saving
from stowage_testbed.text.lines import columns, cut, fitted

KINDS = 27
"""How many are shown by themselves; the others are one line, so that sums are exact."""

_KIND = 36


def savings_screen(found: Defragmentation) -> str:
    """Return what is spent, and what of it could be saved."""
    return fitted(
        (
            [*head(found), *saving(found), *proof(found)],
            list(_kinds(found)),
            [*limits_of(found), "Which nodes, and after which moves: stowage defragment."],
        )
    )


def _kinds(found: Defragmentation) -> Iterator[str]:
    lines = list(found.kinds[:KINDS])
    if others := found.kinds[KINDS:]:
        lines.append(_together(f"{len(others):,} further kinds", others))
    lines.append(_together("all", found.kinds))
    saved = [one.emptied.hourly_micros for one in lines]
    if found.opened:
        # The saving is less by what these cost.
        opened = Bill(len(found.opened), found.saved_micros - saved[-1])
        lines.append(KindBill("idle nodes taken into use", Bill(0, 0), opened, None))
        saved.append(opened.hourly_micros)
    rows = zip(
        (cut(one.kind, _KIND) for one in lines),
        (_number(one.used.nodes) for one in lines),
        exact_column([one.each_micros or 0 for one in lines]),
        exact_column([one.used.hourly_micros for one in lines]),
        (_number(one.emptied.nodes) for one in lines),
        exact_column(saved),
        strict=True,
    )
    yield from columns(("kind", "nodes", "each", "an hour", "emptied", "saved"), rows, ("left", *["right"] * 5))


def _together(name: str, kinds: Sequence[KindBill]) -> KindBill:
    used = _sum([one.used for one in kinds])
    return KindBill(name, used, _sum([one.emptied for one in kinds]), None)


def _sum(bills: Sequence[Bill]) -> Bill:
    return Bill(sum(one.nodes for one in bills), sum(one.hourly_micros for one in bills))


def _number(number: int) -> str:
    return f"{number:,}" if number else ""
