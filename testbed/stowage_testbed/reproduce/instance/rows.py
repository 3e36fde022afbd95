"""Instances, and what is known of one attempt to improve on one.

Pods and nodes are numbers: a pod its place in the order of arrival, a node its place in
the order of names. `PENDING` stands for the node of a pod that has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.cell import Cell
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import NAMESPACE

PENDING = -1

Where = tuple[int, ...]
"""The node of each pod."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance on which a heuristic leaves pods out.

    Attributes
    ----------
    nodes, pods_per_node, priorities, usage_percent
        The cell of the paper's grid.
    number
        Among those of its cell, from 0.
    seed
        What it was generated from; 63 bits.
    seeds_tried
        Until the heuristic left a pod out.
    pod_priority
        Of each pod; the largest matters most.
    start
        Where the heuristic leaves the pods: what every plan begins with.
    """

    case: str
    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int
    number: int
    seed: int
    seeds_tried: int
    pod_priority: tuple[int, ...]
    start: Where

    def placed_by_priority(self, where: Where) -> tuple[int, ...]:
        """Return how many pods have a node, by priority, the highest first."""
        pairs = zip(self.pod_priority, where, strict=True)
        counts = Counter(priority for priority, node in pairs if node != PENDING)
        return tuple(counts[one] for one in sorted(set(self.pod_priority), reverse=True))


class Case(Protocol):
    """An instance that is to be found."""

    @property
    def id(self) -> str:
        """Return its name."""
        ...

    @property
    def cell(self) -> Cell:
        """Return where in the grid it is."""
        ...

    @property
    def number(self) -> int:
        """Return which one of its cell it is, from 0."""
        ...

    def seed(self, attempt: int) -> int:
        """Return what the ``attempt``-th try to find it is generated from."""
        ...

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        ...


def facts_of(case: Case, scenario: Scenario, attempt: int, start: Where) -> dict[str, Any]:
    """Return the fields of the `Instance` that a try has found."""
    return {
        "case": case.id,
        "nodes": case.cell.nodes,
        "pods_per_node": case.cell.pods_per_node,
        "priorities": case.cell.priorities,
        "usage_percent": case.cell.usage_percent,
        "number": case.number,
        "seed": case.seed(attempt),
        "seeds_tried": attempt + 1,
        "pod_priority": tuple(one.priority for one in scenario.workload for _ in range(one.replicas)),
        "start": start,
    }


@dataclass(frozen=True, slots=True)
class TierRow:
    """What a plan claims of one tier; see the contract's TierResult."""

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int

    @classmethod
    def of(cls, tier: pb.TierResult) -> TierRow:
        """Return the claims that a plan has about a tier."""
        return cls(*(getattr(tier, one.name) for one in fields(cls)))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One strategy on one instance, from where a heuristic left the pods.

    Attributes
    ----------
    cores
        Threads of the solver.
    end_reason, message
        As the optimiser said them.
    optimal
        Whether it proved that no plan places more, and none as many with less
        disruption.
    plan
        Where the pods are when the plan is carried out.
    wall_s, solve_s
        From the call to its last answer; and the solve alone.
    """

    case: str
    strategy: str
    limit_s: float
    cores: int
    end_reason: str
    message: str
    optimal: bool
    plan: Where
    moves: int
    evictions: int
    tiers: tuple[TierRow, ...]
    wall_s: float
    solve_s: float


def numbered(scenario: Scenario, nodes: Mapping[str, str | None]) -> Where:
    """Return where the pods are, by their number, from their nodes by full name."""
    (pool,) = scenario.nodes
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(pool.node_names())}
    numbers[None] = PENDING
    return tuple(numbers[nodes[f"{NAMESPACE}/{name}"]] for name in pod_names(scenario))


def pod_names(scenario: Scenario) -> list[str]:
    """Return the names of the pods in the order of arrival."""
    return [f"{one.name}-{number}" for one in scenario.workload for number in range(one.replicas)]
