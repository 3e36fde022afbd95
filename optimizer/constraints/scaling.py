"""Smaller numbers, same problem: each dimension in its largest exact unit.

Memory in bytes gives coefficients around 10^9. Dividing what pods take by the
greatest common divisor, and what nodes have by the same rounded down, changes no
answer: sums of multiples fit a room exactly when they fit the largest multiple in it.
"""

from __future__ import annotations

from math import gcd

from optimizer.constraints.resources import Amounts
from optimizer.model.packing import Item


def scale(
    room: tuple[Amounts, ...], items: tuple[Item, ...]
) -> tuple[tuple[Amounts, ...], tuple[Item, ...]]:
    """Return ``room`` and ``items`` in the largest exact unit of each dimension."""
    if not items:
        return room, items
    # Items of one class share one tuple, so that few of them are left to divide.
    demands = {item.demand for item in items}
    units = tuple(gcd(*amounts) or 1 for amounts in zip(*demands, strict=True))
    divided = {amounts: _divide(amounts, units) for amounts in demands}
    return (
        tuple(_divide(amounts, units) for amounts in room),
        tuple(
            Item(
                item.pod_uid,
                item.priority,
                divided[item.demand],
                item.eligible,
                item.home,
            )
            for item in items
        ),
    )


def _divide(amounts: Amounts, units: tuple[int, ...]) -> Amounts:
    return tuple(amount // unit for amount, unit in zip(amounts, units, strict=True))
