"""The instances of the paper's evaluation: those on which the default scheduler fails.

As published: the deterministic scheduler, without preemption, gets the pods ReplicaSet
by ReplicaSet; what it places whole is discarded. The paper walks one list of seeds; the
instances here walk a list each, so that they can be found side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from stowage_testbed.amounts.resources import CPU, MEMORY
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.rows import Instance, Where, facts_of, numbered
from stowage_testbed.reproduce.sweep.tools import Tools
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import make_instance
from stowage_testbed.simulate import Placements


@dataclass(frozen=True, slots=True)
class InstanceRow(Instance):
    """An instance on which the deterministic scheduler leaves pods pending.

    Attributes
    ----------
    node_cpu_milli, node_memory_bytes
        Of each node: all are equal.
    stock
        Where the stock scheduler leaves them, with preemption; a pod that was preempted
        and came back counts as the same.
    stock_preempted
        How many were preempted at least once.
    simulated_s
        What the deterministic scheduler took for the last seed, in seconds.
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
        case = Case(Family.PAPER, cell, self.number)
        return case.scenario(self.seeds_tried - 1)


SEEDS_TRIED = 60
"""Until a cell is said to have no such instance of this number."""


@dataclass(frozen=True, slots=True)
class SelectTask:
    """Find the instance of a case; no row if every seed gives one that is placed."""

    case: Case

    @property
    def id(self) -> str:
        """Return the case's name."""
        return self.case.id

    def execute(self, tools: Tools) -> tuple[InstanceRow, ...]:
        """Return the first instance that has a pending pod, with both baselines."""
        for attempt in range(SEEDS_TRIED):
            scenario = self.case.scenario(attempt)
            instance = make_instance(scenario)
            began = perf_counter()
            placed = tools.deterministic.place(instance)
            simulated_s = perf_counter() - began
            if not placed.pending():
                continue
            stock = tools.stock.place(replace(instance, replace=True))
            return (self._row(scenario, attempt, placed, stock, simulated_s),)
        return ()

    def _row(
        self, scenario: Scenario, attempt: int, deterministic: Placements, stock: Placements, simulated_s: float
    ) -> InstanceRow:
        (pool,) = scenario.nodes
        owners = [one for one in scenario.workload for _ in range(one.replicas)]
        start = numbered(scenario, deterministic.nodes)
        return InstanceRow(
            **facts_of(self.case, scenario, attempt, start),
            node_cpu_milli=pool.resources[CPU],
            node_memory_bytes=pool.resources[MEMORY],
            pod_cpu_milli=tuple(one.requests[CPU] for one in owners),
            pod_memory_bytes=tuple(one.requests[MEMORY] for one in owners),
            stock=numbered(scenario, stock.nodes),
            stock_preempted=len(stock.evicted),
            simulated_s=simulated_s,
        )
