"""The paper's instances, on which the default scheduler fails, and the category of what became of each.

As published, the deterministic scheduler gets the pods ReplicaSet by ReplicaSet, and what it places whole is discarded.
Here each instance walks a list of seeds of its own, so that they can be found side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter

from stowage_testbed.amounts.resources import CPU, MEMORY
from stowage_testbed.reproduce.instance import rebuilding
from stowage_testbed.reproduce.instance.rows import PENDING, Instance, Where, facts_of, numbered
from stowage_testbed.reproduce.sweep.execution import Tools
from stowage_testbed.scenario.instances import Case, Cell, Family
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import make_instance

SEEDS_TRIED = 60
"""Until a cell is said to have no such instance of this number."""


@dataclass(frozen=True, slots=True)
class InstanceRow(Instance):
    """An instance on which the deterministic scheduler leaves pods pending, in ``simulated_s``.

    ``stock`` is where the stock scheduler leaves the pods; ``stock_preempted`` counts those preempted at least once.
    """

    node_cpu_milli: int
    node_memory_bytes: int
    pod_cpu_milli: tuple[int, ...]
    pod_memory_bytes: tuple[int, ...]
    stock: Where
    stock_preempted: int
    simulated_s: float

    @property
    def scenario(self) -> Scenario:
        """Return the scenario that it was generated as."""
        cell = Cell(self.nodes, self.pods_per_node, self.priorities, self.usage_percent)
        return Case(Family.PAPER, cell, self.number).scenario(self.seeds_tried - 1)


def find_instance(case: Case, attempt: int, tools: Tools) -> InstanceRow | None:
    """Return the instance of a try with both baselines, if it has a pending pod."""
    scenario = case.scenario(attempt)
    instance = make_instance(scenario)
    began = perf_counter()
    placed = tools.deterministic.place(instance)
    simulated_s = perf_counter() - began
    if not placed.pending():
        return None
    stock = tools.stock.place(replace(instance, replace=True))
    (pool,) = scenario.nodes
    owners = [one for one in scenario.workload for _ in range(one.replicas)]
    return InstanceRow(
        **facts_of(case, scenario, attempt, numbered(scenario, placed.nodes)),
        node_cpu_milli=pool.resources[CPU],
        node_memory_bytes=pool.resources[MEMORY],
        pod_cpu_milli=tuple(one.requests[CPU] for one in owners),
        pod_memory_bytes=tuple(one.requests[MEMORY] for one in owners),
        stock=numbered(scenario, stock.nodes),
        stock_preempted=len(stock.evicted),
        simulated_s=simulated_s,
    )


class Category(StrEnum):
    """One bar of the stack, in the order in which the paper stacks them."""

    BETTER_OPTIMAL = "Better & Optimal"
    BETTER = "Better"
    DEFAULT_OPTIMAL = "KWOK Optimal"
    NO_CALLS = "No Calls"
    FAILURES = "Failures"


class Baseline(StrEnum):
    """What a plan is compared with: the stock scheduler with preemption, as published, or where the plan begins."""

    STOCK = "stock"
    DETERMINISTIC = "deterministic"


@dataclass(frozen=True, slots=True)
class Categorised(rebuilding.Solved[InstanceRow]):
    """A result and its instance."""

    def category(self, baseline: Baseline) -> Category:
        """Return the category: pods placed of the highest priority decide, then of the next, as in their scripts."""
        theirs = self._placements_of(baseline)
        if PENDING not in theirs:
            return Category.NO_CALLS
        ours, before = self.placed_by_priority, self.instance.placed_by_priority(theirs)
        if ours > before:
            return Category.BETTER_OPTIMAL if self.result.optimal else Category.BETTER
        return Category.DEFAULT_OPTIMAL if ours == before and self.result.optimal else Category.FAILURES

    def _placements_of(self, baseline: Baseline) -> Where:
        return self.instance.stock if baseline is Baseline.STOCK else self.instance.start

    def gain_points(self, baseline: Baseline, resource: str) -> float:
        """Return by how much more of a resource is used, in points of all of it."""
        instance = self.instance
        requests, of_node = instance.pod_memory_bytes, instance.node_memory_bytes
        if resource == CPU:
            requests, of_node = instance.pod_cpu_milli, instance.node_cpu_milli
        after, before = (
            sum(request for request, node in zip(requests, where, strict=True) if node != PENDING)
            / (instance.nodes * of_node)
            for where in (self.result.plan, self._placements_of(baseline))
        )
        return 100 * (after - before)


Evaluation = rebuilding.Evaluation[Categorised]


def shares(categorised: Iterable[Categorised], baseline: Baseline) -> dict[Category, float] | None:
    """Return the share of each category; ``None`` of nothing."""
    counts = Counter(one.category(baseline) for one in categorised)
    total = counts.total()
    return {one: counts[one] / total for one in Category} if total else None
