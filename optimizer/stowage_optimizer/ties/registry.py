"""What makes the ties of a problem."""

from collections.abc import Callable
from dataclasses import replace

from stowage_optimizer.model.options import Limits
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.tie import Tie
from stowage_optimizer.ties.bins import device_tie
from stowage_optimizer.ties.disruptions import budget_tie, limit_tie
from stowage_optimizer.ties.gangs import gang_tie
from stowage_optimizer.ties.relations import relation_tie

TIES: tuple[Callable[[Packing], Tie | None], ...] = (device_tie, budget_tie, gang_tie, relation_tie)
"""Each returns what ties the pods of a problem, or nothing; a new kind of tie is one more."""


def with_ties(packing: Packing, *, gangs: bool = True) -> Packing:
    """Return ``packing`` with all that ties its pods; without ``gangs`` nothing can break one."""
    makers = (make for make in TIES if gangs or make is not gang_tie)
    return replace(packing, ties=tuple(tie for make in makers if (tie := make(packing)) is not None))


def within_limits(packing: Packing, limits: Limits) -> Packing:
    """Return ``packing`` with the limits of a request too, as far as they may be in the way."""
    tie = limit_tie(packing, limits)
    if tie is None:
        return packing
    # Of what budgets leave of a plan the limits leave a part, and the rest is repaired last.
    first = tuple(one for one in packing.ties if one.divisible)
    return replace(packing, ties=(*first, tie, *(one for one in packing.ties if not one.divisible)))
