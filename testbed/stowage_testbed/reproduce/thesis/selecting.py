"""Finding instances on which First Fit Decreasing fails (section 4.4.3)."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.snapshot import snapshot_of
from stowage_testbed.reproduce.instance.pods import pod_names
from stowage_testbed.reproduce.instance.rows import PENDING, Where
from stowage_testbed.reproduce.instance.solving import carried_out
from stowage_testbed.reproduce.sweep.tools import Tools
from stowage_testbed.reproduce.thesis.cases import ThesisCase
from stowage_testbed.reproduce.thesis.rows import ThesisRow
from stowage_testbed.scenario.model import Scenario

HEURISTIC = "first-fit-decreasing"
SEEDS_TRIED = 1000
"""Until a cell is said to have no such instance of this number."""


@dataclass(frozen=True, slots=True)
class SelectTask:
    """Find the instance of a case; no row if the heuristic places all of every seed."""

    case: ThesisCase

    @property
    def id(self) -> str:
        """Return the case's name."""
        return self.case.id

    def execute(self, tools: Tools) -> tuple[ThesisRow, ...]:
        """Return the first instance that has a pending pod.

        Raises
        ------
        StowageError
            The optimiser, which has the heuristic, failed.
        """
        for attempt in range(SEEDS_TRIED):
            scenario = self.case.scenario(attempt)
            start = _placed(scenario, tools)
            if PENDING in start:
                return (self._row(scenario, attempt, start),)
        return ()

    def _row(self, scenario: Scenario, attempt: int, start: Where) -> ThesisRow:
        cell = self.case.cell
        return ThesisRow(
            case=self.case.id,
            nodes=cell.nodes,
            pods_per_node=cell.pods_per_node,
            priorities=cell.priorities,
            usage_percent=cell.usage_percent,
            labelled=self.case.labelled,
            number=self.case.number,
            seed=self.case.seed(attempt),
            seeds_tried=attempt + 1,
            pod_priority=tuple(
                one.priority for one in scenario.workload for _ in range(one.replicas)
            ),
            start=start,
        )


def _placed(scenario: Scenario, tools: Tools) -> Where:
    """Return where the heuristic puts all pods of an empty cluster."""
    names = pod_names(scenario)
    nodes = [name for pool in scenario.nodes for name in pool.node_names()]
    nowhere = (PENDING,) * len(names)
    request = pb.SolveRequest(
        snapshot=snapshot_of(scenario, dict.fromkeys(names)),
        options=pb.SolveOptions(
            strategy=HEURISTIC, time_limit_s=1.0, policy=pb.POLICY_PAPER
        ),
    )
    plan = tools.service.last_answer(request).plan
    return carried_out(nowhere, plan, names, nodes)
