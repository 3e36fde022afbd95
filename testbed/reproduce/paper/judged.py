"""Results with their instances: what every table and figure is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from testbed.reproduce.instance.rows import ResultRow, Where
from testbed.reproduce.paper.category import (
    Baseline,
    Category,
    category,
    placements_of,
)
from testbed.reproduce.paper.placed import cpu_utilisation, memory_utilisation
from testbed.reproduce.paper.rows import InstanceRow


@dataclass(frozen=True, slots=True)
class Judged:
    """A result and its instance."""

    instance: InstanceRow
    result: ResultRow

    def category(self, baseline: Baseline) -> Category:
        """Return the result's category."""
        return category(self.instance, self.result, baseline)

    def cpu_gain_points(self, baseline: Baseline) -> float:
        """Return by how much of all CPU more is used, in percentage points."""
        return self._gain(baseline, cpu_utilisation)

    def memory_gain_points(self, baseline: Baseline) -> float:
        """Return by how much of all memory more is used, in percentage points."""
        return self._gain(baseline, memory_utilisation)

    def _gain(
        self, baseline: Baseline, used: Callable[[InstanceRow, Where], float]
    ) -> float:
        before = placements_of(self.instance, baseline)
        return 100 * (
            used(self.instance, self.result.plan) - used(self.instance, before)
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All results of a sweep.

    Attributes
    ----------
    strategies, limits_s
        In the order in which they are shown.
    missing
        How many cases of a cell have no instance on which the scheduler fails.
    failures
        Why, of each task that could not be carried out.
    """

    judged: tuple[Judged, ...]
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    missing: Mapping[str, int]
    failures: Mapping[str, str]

    @property
    def instances(self) -> int:
        """Return how many instances were solved."""
        return len({one.instance.case for one in self.judged})

    def of(self, strategy: str, limit_s: float) -> tuple[Judged, ...]:
        """Return the results of a strategy with a limit."""
        return tuple(
            one
            for one in self.judged
            if one.result.strategy == strategy and one.result.limit_s == limit_s
        )


def shares(
    judged: Iterable[Judged], baseline: Baseline
) -> dict[Category, float] | None:
    """Return the share of each category; ``None`` of nothing."""
    counts = Counter(one.category(baseline) for one in judged)
    total = counts.total()
    if not total:
        return None
    return {one: counts[one] / total for one in Category}
