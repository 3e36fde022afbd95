"""What became of an instance: the paper's five categories ("Results")."""

from __future__ import annotations

from enum import StrEnum

from stowage_testbed.reproduce.instance.rows import ResultRow, Where
from stowage_testbed.reproduce.paper.placed import all_placed, placed_by_priority
from stowage_testbed.reproduce.paper.rows import InstanceRow


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
