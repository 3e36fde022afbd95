"""Counting what steps disrupt, against the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from stowage_optimizer.model.options import Limits
from stowage_optimizer.strategies.finish.steps import Step


@dataclass(slots=True)
class Tally:
    """What the steps so far have disrupted.

    Parameters
    ----------
    limits
        How much they may.
    owners
        Owner of each item, empty where it has none: such a pod has no limit of its own.
    kept
        Items that may not be evicted.
    """

    limits: Limits
    owners: Sequence[str]
    kept: frozenset[int] = frozenset()
    moves: int = 0
    evictions: int = 0
    _by_owner: Counter[str] = field(default_factory=Counter)

    def take(self, step: Step) -> bool:
        """Count ``step`` and return True, if it keeps within the limits."""
        by_owner = Counter(
            self.owners[item]
            for item in (*step.moved, *step.evicted)
            if self.owners[item]
        )
        if not (self._affordable(step, by_owner) and self._worth(step)):
            return False
        self.moves += len(step.moved)
        self.evictions += len(step.evicted)
        self._by_owner += by_owner
        return True

    def _affordable(self, step: Step, by_owner: Counter[str]) -> bool:
        limits = self.limits
        return (
            self.kept.isdisjoint(step.evicted)
            and _within(self.moves + len(step.moved), limits.max_moves)
            and _within(self.evictions + len(step.evicted), limits.max_evictions)
            and all(
                _within(self._by_owner[owner] + count, limits.max_disruptions_per_owner)
                for owner, count in by_owner.items()
            )
        )

    def _worth(self, step: Step) -> bool:
        return len(step.placed) >= self.limits.min_gain_per_move * len(step.moved)


def _within(count: int, limit: int | None) -> bool:
    return limit is None or count <= limit
