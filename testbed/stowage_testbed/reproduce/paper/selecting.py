"""Finding instances on which the default scheduler fails (the paper's "Evaluation").

As published: the deterministic scheduler, without preemption, gets the pods ReplicaSet
by ReplicaSet; what it places whole is discarded. The paper walks one list of seeds; the
instances here walk a list each, so that they can be found side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from stowage_testbed.instances.case import Case
from stowage_testbed.reproduce.instance.pods import numbered
from stowage_testbed.reproduce.paper.rows import InstanceRow
from stowage_testbed.reproduce.sweep.tools import Tools
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import instance_of
from stowage_testbed.simulate import Placements

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
            instance = instance_of(scenario)
            began = perf_counter()
            placed = tools.deterministic.place(instance)
            simulated_s = perf_counter() - began
            if not placed.pending():
                continue
            stock = tools.stock.place(replace(instance, replace=True))
            return (self._row(scenario, attempt, placed, stock, simulated_s),)
        return ()

    def _row(
        self,
        scenario: Scenario,
        attempt: int,
        deterministic: Placements,
        stock: Placements,
        simulated_s: float,
    ) -> InstanceRow:
        cell, (pool,) = self.case.cell, scenario.nodes
        owners = [one for one in scenario.workload for _ in range(one.replicas)]
        return InstanceRow(
            case=self.case.id,
            nodes=cell.nodes,
            pods_per_node=cell.pods_per_node,
            priorities=cell.priorities,
            usage_percent=cell.usage_percent,
            number=self.case.number,
            seed=self.case.seed(attempt),
            seeds_tried=attempt + 1,
            node_cpu_milli=pool.cpu_milli,
            node_memory_bytes=pool.memory_bytes,
            pod_priority=tuple(one.priority for one in owners),
            pod_cpu_milli=tuple(one.cpu_milli for one in owners),
            pod_memory_bytes=tuple(one.memory_bytes for one in owners),
            start=numbered(scenario, deterministic.nodes),
            stock=numbered(scenario, stock.nodes),
            stock_preempted=len(stock.evicted),
            simulated_s=simulated_s,
        )
