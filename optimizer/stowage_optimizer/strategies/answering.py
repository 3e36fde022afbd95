"""A strategy as the service runs it, with what is added to its plans."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from stowage_optimizer.model.options import Objective, SolveOptions
from stowage_optimizer.strategies.finish.strategy import Finished
from stowage_optimizer.strategies.preferring import Preferring
from stowage_optimizer.strategies.related import Related
from stowage_optimizer.strategies.strategy import Strategy


@runtime_checkable
class SelfContained(Protocol):
    """A strategy that handles relations and limits by itself.

    It keeps the relations between pods and disrupts none, so that there is nothing to
    limit. Another plan that places as many would not be its plan.
    """

    @property
    def is_self_contained(self) -> bool:
        """Return whether nothing must be added."""
        ...


def answering(strategy: Strategy, options: SolveOptions) -> Strategy:
    """Return ``strategy`` with all that ``options`` ask for beyond placing pods.

    That is: demands of pods on each other, limits on disruption, what moves gain,
    soft preferences, and emptying nodes.
    """
    alone = isinstance(strategy, SelfContained) and strategy.is_self_contained
    if alone and options.objective is not Objective.CONSOLIDATE:
        return strategy
    return Preferring(Related(Finished(strategy)))
