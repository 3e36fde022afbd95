"""The paper's grid of cells, and a case: one instance of a cell."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

from stowage_testbed.cluster.node_pool import ZONE_LABEL
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import Scenario, Workload, imply_steps

NODES = (4, 8, 16, 32)
PODS_PER_NODE = (4, 8)
PRIORITIES = (1, 2, 4)
USAGES_PERCENT = (90, 95, 100, 105)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of parameters; ``usage_percent`` is demand over capacity."""

    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int

    @property
    def name(self) -> str:
        """Return the cell as text, as in ``n32-p8-k4-u105``."""
        return f"n{self.nodes}-p{self.pods_per_node}-k{self.priorities}-u{self.usage_percent}"

    @property
    def usage(self) -> float:
        """Return the usage as a share."""
        return self.usage_percent / 100


def grid() -> tuple[Cell, ...]:
    """Return the paper's 96 cells."""
    return tuple(Cell(*values) for values in product(NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT))


class Family(StrEnum):
    """The paper's instances, the thesis's, and these with affinity to labels of nodes."""

    PAPER = "paper"
    THESIS = "thesis"
    LABELS = "labels"


@dataclass(frozen=True, slots=True)
class Case:
    """The ``number``-th instance of a cell."""

    family: Family
    cell: Cell
    number: int

    @property
    def id(self) -> str:
        """Return a name that is also a file name, as in ``paper-n4-p4-k1-u95-0``."""
        return f"{self.family}-{self.cell.name}-{self.number}"

    def seed(self, attempt: int) -> int:
        """Return the seed of the ``attempt``-th try to find an instance: 63 bits."""
        label = f"{self.cell.name}/{self.number}/{attempt}".encode()
        return int.from_bytes(hashlib.blake2b(label, digest_size=8).digest(), "big") >> 1

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        cell, seed = self.cell, self.seed(attempt)
        drawn = generate(seed, cell.nodes, cell.pods_per_node, cell.priorities, cell.usage)
        scenario = Scenario(
            name=self.id,
            description=f"Seed {seed}.",
            nodes=(drawn.node_pool(),),
            workload=drawn.workload,
            instance=drawn.spec,
        )
        if self.family is Family.LABELS:
            draw = random.Random(seed)  # noqa: S311 - not a secret
            workload = tuple(_add_affinity(one, draw.random()) for one in scenario.workload)
            scenario = replace(scenario, nodes=(replace(drawn.node_pool(), zones=ZONES),), workload=workload)
        return replace(scenario, steps=imply_steps(scenario.workload))


ZONES = ("a", "b")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

NEAR_SHARE, OFF_SHARE = 0.2, 0.2
"""Of the thesis's ReplicaSets: with affinity to the first zone, and with anti-affinity to it."""


def _add_affinity(workload: Workload, chosen: float) -> Workload:
    if chosen >= NEAR_SHARE + OFF_SHARE:
        return workload
    demand = {"key": ZONE_LABEL, "operator": "In" if chosen < NEAR_SHARE else "NotIn", "values": [ZONES[0]]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}
    return replace(workload, pod={"affinity": {"nodeAffinity": {REQUIRED: terms}}})
