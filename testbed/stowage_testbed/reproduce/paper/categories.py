"""What became of an instance: the paper's five categories ("Results")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from stowage_testbed.reproduce.instance import evaluation
from stowage_testbed.reproduce.instance.rows import PENDING, ResultRow, Where
from stowage_testbed.reproduce.paper.instances import InstanceRow


def all_placed(where: Where) -> bool:
    """Return whether no pod is pending."""
    return PENDING not in where


def placed_by_priority(instance: InstanceRow, where: Where) -> tuple[int, ...]:
    """Return how many pods are placed of each priority, the highest first."""
    counts = Counter(
        priority
        for priority, node in zip(instance.pod_priority, where, strict=True)
        if node != PENDING
    )
    return tuple(counts[one] for one in range(instance.priorities, 0, -1))


def cpu_utilisation(instance: InstanceRow, where: Where) -> float:
    """Return the share of all CPU that the placed pods request."""
    capacity = instance.nodes * instance.node_cpu_milli
    return _used(instance.pod_cpu_milli, where) / capacity


def memory_utilisation(instance: InstanceRow, where: Where) -> float:
    """Return the share of all memory that the placed pods request."""
    capacity = instance.nodes * instance.node_memory_bytes
    return _used(instance.pod_memory_bytes, where) / capacity


def _used(requests: tuple[int, ...], where: Where) -> int:
    return sum(
        request
        for request, node in zip(requests, where, strict=True)
        if node != PENDING
    )


class Category(StrEnum):
    """One bar of the stack, in the order in which the paper stacks them."""

    BETTER_OPTIMAL = "Better & Optimal"
    BETTER = "Better"
    DEFAULT_OPTIMAL = "KWOK Optimal"
    NO_CALLS = "No Calls"
    FAILURES = "Failures"


class Baseline(StrEnum):
    """What a plan is held against.

    ``STOCK``: the stock scheduler with preemption, as published. ``DETERMINISTIC``: the
    deterministic one without, whose placements the plan begins with.
    """

    STOCK = "stock"
    DETERMINISTIC = "deterministic"


def placements_of(instance: InstanceRow, baseline: Baseline) -> Where:
    """Return where the baseline leaves the pods."""
    if baseline is Baseline.STOCK:
        return instance.stock
    return instance.start


def category(instance: InstanceRow, result: ResultRow, baseline: Baseline) -> Category:
    """Return the category of a result.

    Placements are compared as the paper's scripts do: pods placed of the highest
    priority, then of the next. What is no better, and not proved to be the best, is a
    failure; so is what is worse.
    """
    theirs = placements_of(instance, baseline)
    if all_placed(theirs):
        return Category.NO_CALLS
    ours = placed_by_priority(instance, result.plan)
    before = placed_by_priority(instance, theirs)
    if ours > before:
        return Category.BETTER_OPTIMAL if result.optimal else Category.BETTER
    if ours == before and result.optimal:
        return Category.DEFAULT_OPTIMAL
    return Category.FAILURES


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
