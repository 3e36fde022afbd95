"""Smaller numbers, same problem: each dimension in its largest exact unit.

Memory in bytes gives coefficients around 10^9. Dividing what pods take by the
greatest common divisor, and what nodes have by the same rounded down, changes no
answer: sums of multiples fit a room exactly when they fit the largest multiple in it.
"""

from __future__ import annotations

from collections.abc import Set
from math import gcd

from stowage_optimizer.constraints.resources import Amounts


def scale(
    room: tuple[Amounts, ...], demands: Set[Amounts]
) -> tuple[tuple[Amounts, ...], dict[Amounts, Amounts]]:
    """Return ``room``, and each of ``demands``, in the largest exact unit.

    Parameters
    ----------
    room
        Shape ``(nodes, dimensions)``.
    demands
        What pods ask for, each once, by dimension.
    """
    if not demands:
        return room, {}
    units = tuple(gcd(*amounts) or 1 for amounts in zip(*demands, strict=True))
    return (
        tuple(_divide(amounts, units) for amounts in room),
        {amounts: _divide(amounts, units) for amounts in demands},
    )


def _divide(amounts: Amounts, units: tuple[int, ...]) -> Amounts:
    return tuple(amount // unit for amount, unit in zip(amounts, units, strict=True))
