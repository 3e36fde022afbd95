"""The scenario as the rest of the testbed sees it: typed, checked, expanded.

A scenario file holds a default run and any number of variants of it. Each of them is
one `Scenario`: parameters filled in, generated instances expanded, quantities turned
into integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.observe.pod_body import requests_of
from stowage_testbed.resources import Resources
from stowage_testbed.scenario.expectations import Expectations
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.demand import most_pods
from stowage_testbed.scenario.steps.kinds import added_nodes, replayed_pods

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""

Arrival = Literal["sequential", "burst"]
"""`sequential`: a workload waits until all pods of the one before have an outcome."""

Trigger = Literal["on-unschedulable", "manual"]
"""What makes the optimiser look: unschedulable pods, or a PackingPlan by hand."""

Policy = Literal["strict", "paper"]
"""Which running pods a plan may leave unplaced (the optimiser's own policies)."""

FaultMoment = Literal[
    "unschedulable", "solving", "proposed", "executing", "evicted", "arrived"
]
"""When a fault begins: a pod was refused, a plan has come so far, pods left or came."""

Harm = Literal["careful", "any"]
"""What plans may do to running pods: the chart's own rules, or whatever it takes."""

WorkloadKind = Literal[
    "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"
]

SCALED = frozenset({"ReplicaSet", "Deployment", "StatefulSet"})
"""Kinds of workload whose number of pods can be changed."""

CatchWhat = Literal["events", "logs", "objects", "describe"]


@dataclass(frozen=True, slots=True)
class Workload:
    """Equal controllers and their equal pods.

    Attributes
    ----------
    replicas
        Pods of each controller; of a DaemonSet those that are expected, of a CronJob
        none before its time has come.
    requests
        What its own container asks for; nothing where `pod` brings containers.
    pod, spec
        What is merged into the pods' spec, and into the controller's.
    runs_s
        How long a pod runs before it is done; with None one of a Job is done at once,
        and any other runs for ever.
    ends_in_s
        How long a pod takes to end when it is deleted or evicted.
    """

    name: str
    replicas: int
    requests: Resources
    kind: WorkloadKind = "ReplicaSet"
    priority: int = 0
    image: str = "pause"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pod: Mapping[str, object] = field(default_factory=dict)
    ends_in_s: float = 0.0
    controllers: int = 1
    spec: Mapping[str, object] = field(default_factory=dict)
    runs_s: float | None = None

    @property
    def pods(self) -> int:
        """Return the number of pods of all controllers."""
        return 0 if self.kind == "CronJob" else self.replicas * self.controllers

    @property
    def takes(self) -> Resources:
        """Return what a pod takes of a node, as the scheduler counts it."""
        own = {"resources": {"requests": self.requests.quantities()}}
        return requests_of({"spec": {"containers": [own], **self.pod}})

    @property
    def controller_names(self) -> tuple[str, ...]:
        """Return the controllers' names in order; of pods without one their own."""
        number = self.replicas if self.kind == "Pod" else self.controllers
        if number == 1:
            return (self.name,)
        width = len(str(number - 1))
        return tuple(f"{self.name}-{i:0{width}}" for i in range(number))


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """The release that places the pods of a stepped scenario.

    ``values`` are Helm values over those that the other settings give.
    """

    profile: str = "deterministic"
    optimizer: bool = False
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CatchItem:
    """What to collect when a step or a check fails; ``of`` is a kind or a name."""

    what: CatchWhat
    of: str = ""


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """How the optimiser is started and bounded in the second half of a run."""

    trigger: Trigger = "on-unschedulable"
    time_limit_s: float = 5.0
    settle_s: float = 0.5
    policy: Policy = "strict"
    strategy: str = "lexicographic"
    harm: Harm = "careful"


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """The parameters of an instance that `stowage_testbed.scenario.instances` makes."""

    seed: int
    nodes: int
    pods_per_node: int
    priorities: int
    usage: float


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when: `schema.yaml` says what each setting means.

    ``way`` is empty for a fault that has a single one. ``after_s`` and ``lasts_s`` are
    ranges in seconds.
    """

    do: str
    at: FaultMoment
    way: str = ""
    count: int = 1
    after_s: tuple[float, float] = (0.0, 0.0)
    lasts_s: tuple[float, float] = (0.0, 0.0)
    tries: int = 20


@dataclass(frozen=True, slots=True)
class Half:
    """Some steps under a release; the name is that of its profile."""

    scheduler: SchedulerSettings
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """What the half is called in reports."""
        return self.scheduler.profile


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: the world, what is done to it, and what must come of it.

    Attributes
    ----------
    steps
        They say all that happens; empty where the file has none.
    halves
        What a file without steps stands for: a deterministic scheduler places the
        workload, then the optimiser packs what is there.
    objects
        What steps apply besides the workload, by name.
    timeouts
        Seconds by kind of step, where the file differs from the defaults.
    catch
        What to collect when something fails.
    """

    name: str
    description: str
    nodes: tuple[NodePool, ...]
    workload: tuple[Workload, ...]
    variant: str | None = None
    source: str = ""
    labels: tuple[str, ...] = ()
    arrival: Arrival = "sequential"
    optimizer: OptimizerSettings = OptimizerSettings()
    expect: Expectations = field(default_factory=Expectations)
    fault: FaultSettings | None = None
    instance: InstanceSpec | None = None
    objects: Mapping[str, ObjectSpec] = field(default_factory=dict)
    scheduler: SchedulerSettings = SchedulerSettings()
    steps: tuple[Step, ...] = ()
    halves: tuple[Half, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    catch: tuple[CatchItem, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    path: Path | None = None

    @property
    def scenario_id(self) -> str:
        """Return `name`, or `name@variant`."""
        return f"{self.name}@{self.variant}" if self.variant else self.name

    @property
    def pod_count(self) -> int:
        """Return how many pods it has; with steps, the most that are asked for."""
        if self.steps:
            actions = [step.action for step in self.steps]
            return most_pods(actions, self.pods_by_name)
        return sum(workload.pods for workload in self.workload)

    @property
    def pods_by_name(self) -> dict[str, int]:
        """Return how many pods come with each workload and object that has any."""
        return pods_brought(self.workload, self.objects.values())

    @property
    def node_pools(self) -> tuple[NodePool, ...]:
        """Return all kinds of nodes, also those that steps add."""
        return (*self.nodes, *added_nodes(self.steps))

    @property
    def priorities(self) -> tuple[int, ...]:
        """Return the priorities of the pods, in order."""
        found = {workload.priority for workload in self.workload}
        found |= {pod.template.priority for pod in replayed_pods(self.steps)}
        return tuple(sorted(found))


def pods_brought(
    workload: Iterable[Workload], objects: Iterable[ObjectSpec]
) -> dict[str, int]:
    """Return how many pods come with each workload and object that has any."""
    bare = {one.name: one.pods for one in objects if one.pods}
    return bare | {one.name: one.pods for one in workload}
