"""What became of an instance: the paper's five categories ("Results")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from stowage_testbed.amounts.resources import CPU
from stowage_testbed.reproduce.instance import evaluation
from stowage_testbed.reproduce.instance.rows import PENDING, ResultRow, Where
from stowage_testbed.reproduce.paper.instances import InstanceRow


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
    if PENDING not in theirs:
        return Category.NO_CALLS
    ours = instance.placed_by_priority(result.plan)
    before = instance.placed_by_priority(theirs)
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

    def gain_points(self, baseline: Baseline, resource: str) -> float:
        """Return by how much more of a resource is used, in points of all of it."""
        instance = self.instance
        if resource == CPU:
            requests, of_node = instance.pod_cpu_milli, instance.node_cpu_milli
        else:
            requests, of_node = instance.pod_memory_bytes, instance.node_memory_bytes
        after, before = (
            sum(request for request, node in zip(requests, where, strict=True) if node != PENDING)
            / (instance.nodes * of_node)
            for where in (self.result.plan, placements_of(instance, baseline))
        )
        return 100 * (after - before)


Evaluation = evaluation.Evaluation[Categorised]
"""All results of a sweep."""


def shares(categorised: Iterable[Categorised], baseline: Baseline) -> dict[Category, float] | None:
    """Return the share of each category; ``None`` of nothing."""
    counts = Counter(one.category(baseline) for one in categorised)
    total = counts.total()
    if not total:
        return None
    return {one: counts[one] / total for one in Category}
