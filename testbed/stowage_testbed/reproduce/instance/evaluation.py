"""Results with their instances: what every table and figure is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeVar

from stowage_testbed.reproduce.instance.rows import Instance, ResultRow

InstanceT = TypeVar("InstanceT", bound=Instance)


@dataclass(frozen=True, slots=True)
class Solved(Generic[InstanceT]):
    """A result and its instance."""

    instance: InstanceT
    result: ResultRow

    @property
    def placed_by_priority(self) -> tuple[int, ...]:
        """Return how many pods the plan places, the highest priority first."""
        return self.instance.placed_by_priority(self.result.plan)

    @property
    def worth(self) -> tuple[tuple[int, int], ...]:
        """Return what Algorithm 1 maximises, tier by tier: placed, then undisrupted."""
        tiers = sorted(self.result.tiers, key=lambda tier: -tier.priority)
        if not tiers:
            # No plan was published in time: nothing moves.
            return tuple((count, 0) for count in accumulate(self.placed_by_priority))
        return tuple((tier.placed, -tier.disruption) for tier in tiers)


SolvedT = TypeVar("SolvedT", bound=Solved[Any])


@dataclass(frozen=True, slots=True)
class Evaluation(Generic[SolvedT]):
    """All results of a sweep.

    Attributes
    ----------
    strategies, limits_s
        In the order in which they are shown.
    missing
        How many cases of a cell have no instance on which the heuristic fails.
    failures
        Why, of each task that could not be carried out.
    """

    solved: tuple[SolvedT, ...]
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    missing: Mapping[str, int]
    failures: Mapping[str, str]

    @property
    def instances(self) -> int:
        """Return how many instances were solved."""
        return len({one.result.case for one in self.solved})

    def of(self, strategy: str, limit_s: float) -> tuple[SolvedT, ...]:
        """Return the results of a strategy with a limit."""
        return tuple(one for one in self.solved if one.result.strategy == strategy and one.result.limit_s == limit_s)

    def pairs(self, one: str, other: str, limit_s: float) -> Iterator[tuple[SolvedT, SolvedT]]:
        """Yield what two strategies made of each instance that both solved."""
        others = {solved.result.case: solved for solved in self.of(other, limit_s)}
        for solved in self.of(one, limit_s):
            if solved.result.case in others:
                yield solved, others[solved.result.case]
