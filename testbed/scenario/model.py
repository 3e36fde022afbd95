"""The scenario as the rest of the testbed sees it: typed, checked, expanded.

A scenario file holds a default run and any number of variants of it. Each of them is
one `Scenario`: parameters filled in, generated instances expanded, quantities turned
into integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from testbed.cluster.node_pool import NodePool, Taint

__all__ = [
    "Arrival",
    "Bounds",
    "Expectations",
    "ExpectedOptimizer",
    "ExpectedState",
    "FaultMoment",
    "FaultSettings",
    "InstanceSpec",
    "NodePool",
    "OptimizerSettings",
    "Policy",
    "Scenario",
    "Taint",
    "Trigger",
    "Workload",
    "WorkloadKind",
]

Arrival = Literal["sequential", "burst"]
"""`sequential`: a workload waits until all pods of the one before have an outcome."""

Trigger = Literal["on-unschedulable", "manual"]
"""What makes the optimiser look: unschedulable pods, or a PackingPlan by hand."""

Policy = Literal["strict", "paper"]
"""Which running pods a plan may leave unplaced (the optimiser's own policies)."""

FaultMoment = Literal[
    "refused", "solving", "proposed", "executing", "evicted", "arrived"
]
"""When a fault begins: a pod was refused, a plan has come so far, pods left or came."""

WorkloadKind = Literal["ReplicaSet", "Deployment"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One controller and its equal pods. `pod` is merged into the pods' spec."""

    name: str
    replicas: int
    cpu_milli: int
    memory_bytes: int
    kind: WorkloadKind = "ReplicaSet"
    priority: int = 0
    image: str = "pause"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """How the optimiser is started and bounded in the second half of a run."""

    trigger: Trigger = "on-unschedulable"
    time_limit_s: float = 5.0
    settle_s: float = 0.5
    policy: Policy = "strict"
    strategy: str = "lexicographic"


@dataclass(frozen=True, slots=True)
class Bounds:
    """An inclusive range of whole numbers; one number is the range from it to it."""

    minimum: int | None = None
    maximum: int | None = None

    def holds(self, value: int) -> bool:
        """Tell whether ``value`` lies in the range."""
        if self.minimum is not None and value < self.minimum:
            return False
        return self.maximum is None or value <= self.maximum

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return str(self.minimum)
        if self.maximum is None:
            return f"at least {self.minimum}"
        if self.minimum is None:
            return f"at most {self.maximum}"
        return f"{self.minimum} to {self.maximum}"


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """What must hold of the pods and nodes at a settled moment; None is not checked.

    Attributes
    ----------
    placed
        Number of bound pods.
    pending
        Pods without a node, by workload. Exhaustive: a workload that is not named has
        none.
    placements
        The nodes of a workload's bound pods, one entry a pod, in any order.
    groups
        What shares a node, whatever the node is called: one list of workload names
        (one entry a pod) for each node that has pods.
    placed_by_priority
        Bound pods by priority; a priority that is not named is not checked.
    utilisation
        Requested share of the allocatable amount, from 0 to 1, by resource.
    pods_per_node
        Range that every node's number of pods lies in.
    """

    placed: Bounds | None = None
    pending: Mapping[str, int] | None = None
    placements: Mapping[str, tuple[str, ...]] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    placed_by_priority: Mapping[int, Bounds] | None = None
    utilisation: Mapping[str, float] | None = None
    pods_per_node: Bounds | None = None


@dataclass(frozen=True, slots=True)
class ExpectedOptimizer:
    """What must hold after the optimiser; None is not checked.

    Attributes
    ----------
    state
        The pods and nodes afterwards.
    moves, evictions
        Pods that changed their node, and pods that lost theirs, over all plans.
    optimal
        Whether the last plan is proved optimal in every tier.
    solves
        How often the optimiser was asked.
    utilisation_delta
        Utilisation afterwards minus utilisation before, by resource.
    """

    state: ExpectedState = ExpectedState()
    moves: Bounds | None = None
    evictions: Bounds | None = None
    optimal: bool | None = None
    solves: Bounds | None = None
    utilisation_delta: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Expectations:
    """What must come of a scenario, with the deterministic scheduler and after it.

    ``tolerance`` is the allowed distance of every utilisation figure.
    ``allow_unplaceable`` accepts pods that fit no empty node.
    """

    deterministic: ExpectedState = ExpectedState()
    optimizer: ExpectedOptimizer = ExpectedOptimizer()
    tolerance: float = 1e-6
    allow_unplaceable: bool = False


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """The parameters of a generated instance (see `testbed.scenario.instances`)."""

    seed: int
    nodes: int
    pods_per_node: int
    priorities: int
    usage: float


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when.

    Attributes
    ----------
    do, way
        Name of the fault, and which of its ways; empty for one that has a single way.
    at, count
        The moment; ``count`` is of the pods that have left or come by then.
    after_s, lasts_s
        Ranges in seconds, from the moment to the fault and from there to its end.
    tries
        How often it is tried.
    """

    do: str
    at: FaultMoment
    way: str = ""
    count: int = 1
    after_s: tuple[float, float] = (0.0, 0.0)
    lasts_s: tuple[float, float] = (0.0, 0.0)
    tries: int = 20


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: nodes, workload in the order of arrival, optimiser, expectations."""

    name: str
    description: str
    nodes: tuple[NodePool, ...]
    workload: tuple[Workload, ...]
    variant: str | None = None
    source: str = ""
    labels: tuple[str, ...] = ()
    arrival: Arrival = "sequential"
    optimizer: OptimizerSettings = OptimizerSettings()
    expect: Expectations = Expectations()
    fault: FaultSettings | None = None
    instance: InstanceSpec | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    path: Path | None = None

    @property
    def scenario_id(self) -> str:
        """Return `name`, or `name@variant`."""
        return f"{self.name}@{self.variant}" if self.variant else self.name

    @property
    def pod_count(self) -> int:
        """Return how many pods the workload has."""
        return sum(workload.replicas for workload in self.workload)
