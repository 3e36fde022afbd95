"""A proved limit, and how it was proved."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.bounds.prices import Prices
from stowage_optimizer.model.certificate import ProofMethod


@dataclass(frozen=True, slots=True)
class Bound:
    """A proved limit on one phase of one tier.

    Parameters
    ----------
    value
        In the numbers of `TierBounds`: no assignment in question keeps or places
        more (`KEEP`, `PLACE`), or disrupts less (`DISRUPT`).
    method
        How it was proved.
    prices
        What proves it, where that is a dual bound.
    """

    value: int
    method: ProofMethod
    prices: Prices | None = None
