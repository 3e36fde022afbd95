"""Results with their instances, sorted into the paper's categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stowage_testbed.reproduce.instance import evaluation
from stowage_testbed.reproduce.instance.rows import Where
from stowage_testbed.reproduce.paper.category import (
    Baseline,
    Category,
    category,
    placements_of,
)
from stowage_testbed.reproduce.paper.placed import cpu_utilisation, memory_utilisation
from stowage_testbed.reproduce.paper.rows import InstanceRow


@dataclass(frozen=True, slots=True)
class Categorised(evaluation.Solved[InstanceRow]):
    """A result and its instance."""

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


Evaluation = evaluation.Evaluation[Categorised]
"""All results of a sweep."""


def shares(
    categorised: Iterable[Categorised], baseline: Baseline
) -> dict[Category, float] | None:
    """Return the share of each category; ``None`` of nothing."""
    counts = Counter(one.category(baseline) for one in categorised)
    total = counts.total()
    if not total:
        return None
    return {one: counts[one] / total for one in Category}
