"""Prices under which no plan is worth more: the vector of a dual bound."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.search.problem import Ints

SCALE = 2**20
"""A price of one unit of the objective. Prices are whole numbers of its parts, so that
the bound computed from them is exact."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Multipliers of the limits that tie the nodes together; none is negative.

    Parameters
    ----------
    pod
        Price of a pod by kind in scope, of the limit "no more pods than there are",
        shape ``(kinds,)``.
    run
        Price by kind of the limit "no more running pods than pods have a node",
        shape ``(kinds,)``.
    requirement
        Price of each requirement of the scope, shape ``(requirements,)``.
    """

    pod: Ints
    run: Ints
    requirement: Ints
