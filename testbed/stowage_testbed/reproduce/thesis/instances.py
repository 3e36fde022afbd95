"""The thesis's grid, and its instances: those on which First Fit Decreasing fails.

Seed 002: Canova, "Scheduling Optimization in Kubernetes", section 4.4.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.cluster.node_pool import ZONE_LABEL
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.instances.snapshot import REQUIRED, snapshot_of
from stowage_testbed.reproduce.instance.rows import PENDING, Instance, carried_out, facts_of, node_names, pod_names
from stowage_testbed.reproduce.sweep.execution import Tools
from stowage_testbed.scenario.model import Scenario, Workload

BINS = (4, 8, 16, 32)
PODS_PER_BIN = (4, 8)
PRIORITIES = (2, 5)
RATIOS_PERCENT = (80, 90, 100, 110)

LABELS = ("a", "b")
"""Every second node has the one, the others the other."""

NEAR_SHARE, OFF_SHARE = 0.2, 0.2
"""Of the ReplicaSets: with the affinity label ``a``, and with that anti-affinity."""


def thesis_grid() -> tuple[Cell, ...]:
    """Return the thesis's 64 cells."""
    return tuple(Cell(*values) for values in product(BINS, PODS_PER_BIN, PRIORITIES, RATIOS_PERCENT))


@dataclass(frozen=True, slots=True)
class ThesisCase:
    """The ``number``-th instance of a cell.

    If ``labelled``, with affinity and anti-affinity to labels of nodes: the thesis has
    them in its program, and leaves them out of its evaluation (section 4.4.1).
    """

    cell: Cell
    number: int
    labelled: bool = False

    @property
    def id(self) -> str:
        """Return a name that is also a file name."""
        family = "labels" if self.labelled else "thesis"
        return f"{family}-{self.cell.name}-{self.number}"

    def seed(self, attempt: int) -> int:
        """Return the seed of the ``attempt``-th try to find an instance: 63 bits."""
        return self._case.seed(attempt)

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        scenario = replace(self._case.scenario(attempt), name=self.id)
        return _labelled(scenario, self.seed(attempt)) if self.labelled else scenario

    @property
    def _case(self) -> Case:
        return Case(Family.PAPER, self.cell, self.number)


def _labelled(scenario: Scenario, seed: int) -> Scenario:
    draw = Random(seed)  # noqa: S311 - not for secrets
    (pool,) = scenario.nodes
    return replace(
        scenario,
        nodes=(replace(pool, zones=LABELS),),
        workload=tuple(_add_demand(one, draw.random()) for one in scenario.workload),
    )


def _add_demand(workload: Workload, chosen: float) -> Workload:
    if chosen < NEAR_SHARE:
        operator = "In"
    elif chosen < NEAR_SHARE + OFF_SHARE:
        operator = "NotIn"
    else:
        return workload
    demand = {"key": ZONE_LABEL, "operator": operator, "values": [LABELS[0]]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}
    return replace(workload, pod={"affinity": {"nodeAffinity": {REQUIRED: terms}}})


@dataclass(frozen=True, slots=True)
class ThesisRow(Instance):
    """An instance on which First Fit Decreasing leaves pods out."""

    labelled: bool


HEURISTIC = "first-fit-decreasing"
SEEDS_TRIED = 1000
"""Until a cell is said to have no such instance of this number."""


def find_instance(case: ThesisCase, attempt: int, tools: Tools) -> ThesisRow | None:
    """Return the instance of a try, if the heuristic leaves a pod of it pending on an empty cluster."""
    scenario = case.scenario(attempt)
    names = pod_names(scenario)
    request = pb.SolveRequest(
        snapshot=snapshot_of(scenario, dict.fromkeys(names)),
        options=pb.SolveOptions(strategy=HEURISTIC, time_limit_s=1.0, policy=pb.POLICY_PAPER),
    )
    plan = tools.service.last_answer(request).plan
    start = carried_out((PENDING,) * len(names), plan, names, node_names(scenario))
    if PENDING not in start:
        return None
    return ThesisRow(**facts_of(case, scenario, attempt, start), labelled=case.labelled)
