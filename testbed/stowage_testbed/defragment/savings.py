"""What the nodes in use cost, by kind, and what of it could be saved; on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stowage_testbed.amounts.price import exact_price
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
            [
                *limits_of(found),
                "Which nodes, and after which moves: stowage defragment.",
            ],
        )
    )


def _kinds(found: Defragmentation) -> Iterator[str]:
    rows = [_row(one.kind, one) for one in found.kinds[:KINDS]]
    if others := found.kinds[KINDS:]:
        rows.append(_row(f"{len(others):,} further kinds", _together(others)))
    rows.append(_row("all", _together(found.kinds)))
    if found.opened:
        # The saving is less by what these cost.
        opened = found.after.hourly_micros - (
            found.before.hourly_micros - _together(found.kinds).emptied.hourly_micros
        )
        rows.append(
            (
                "idle nodes taken into use", "", "", "", f"{len(found.opened):,}",
                exact_price(-opened),
            )
        )  # fmt: skip
    yield from columns(
        ("kind", "nodes", "each", "an hour", "emptied", "saved"),
        rows,
        ("left", *["right"] * 5),
    )


def _row(name: str, one: KindBill) -> tuple[str, ...]:
    return (
        cut(name, _KIND),
        f"{one.used.nodes:,}",
        _price(one.each_micros or 0),
        _price(one.used.hourly_micros),
        f"{one.emptied.nodes:,}" if one.emptied.nodes else "",
        _price(one.emptied.hourly_micros),
    )


def _together(kinds: Sequence[KindBill]) -> KindBill:
    return KindBill(
        "", _sum(one.used for one in kinds), _sum(one.emptied for one in kinds), None
    )


def _sum(bills: Iterable[Bill]) -> Bill:
    all_bills = list(bills)
    return Bill(
        sum(one.nodes for one in all_bills),
        sum(one.hourly_micros for one in all_bills),
    )


def _price(micros: int) -> str:
    return exact_price(micros) if micros else ""
