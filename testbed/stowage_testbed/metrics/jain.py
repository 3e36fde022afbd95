"""Jain's fairness index: how evenly a load is shared.

R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for
Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def jain_index(loads: Sequence[int]) -> Fraction | None:
    """Return (sum of x)^2 / (n * sum of x^2): from 1/n (all on one) to 1 (all equal).

    ``None`` where nothing is loaded: there is nothing to share.
    """
    squares = sum(load * load for load in loads)
    return Fraction(sum(loads) ** 2, len(loads) * squares) if squares else None
