"""The scenario as the rest of the testbed sees it: typed, checked, expanded.

A scenario file holds a default run and any number of variants of it. Each of them is
one `Scenario`: parameters filled in, generated instances expanded, quantities turned
into integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from stowage_testbed.amounts.quantity import Cpu, Memory
from stowage_testbed.amounts.resources import CPU, MEMORY, NOTHING, Resources, parse_all
from stowage_testbed.api.client import Manifest
from stowage_testbed.cluster.node_pool import NodePool, ResourceName
from stowage_testbed.declaration import form, setting
from stowage_testbed.observe.pod_body import requests_of
from stowage_testbed.scenario.expectations import Expectations
from stowage_testbed.scenario.manifest_forms import Anything, Filled, PodSpec, Texts
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.demand import count_most_pods
from stowage_testbed.scenario.steps.kinds import (
    actions_of,
    list_added_nodes,
    list_recorded,
    list_replayed_nodes,
    list_replayed_pods,
)
from stowage_testbed.scenario.steps.measuring import Measure, Overload
from stowage_testbed.scenario.steps.scheduling import Release
from stowage_testbed.scenario.words import HALVES, STEPS, Label

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""

Arrival = Literal["sequential", "burst"]
"""`sequential`: a workload waits until all pods of the one before have an outcome."""

Trigger = Literal["on-unschedulable", "manual"]
"""What makes the optimiser look: unschedulable pods, or a PackingPlan by hand."""

Policy = Literal["strict", "paper"]
"""Which running pods a plan may leave unplaced (the optimiser's own policies)."""

Harm = Literal["careful", "any"]
"""What plans may do to running pods: the chart's own rules, or whatever it takes."""

WorkloadKind = Literal["ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"]

SCALED = frozenset({"ReplicaSet", "Deployment", "StatefulSet"})
"""Kinds of workload whose number of pods can be changed."""

CatchWhat = Literal["events", "logs", "objects", "describe"]


@dataclass(frozen=True, slots=True)
class PodRequests:
    """What one pod asks for, as a file has it."""

    cpu: Annotated[Cpu | None, setting("CPU request of one pod, as in 100m; without it, none.")] = None
    memory: Annotated[Memory | None, setting("Memory request of one pod, as in 2G or 512Mi; without it, none.")] = None
    requests: Annotated[
        Mapping[ResourceName, Memory],
        setting(
            "What one pod asks for besides cpu and memory, as in nvidia.com/gpu, hugepages-2Mi or ephemeral-storage."
        ),
    ] = field(default_factory=dict)


def _parse_requests(plain: Mapping[str, Any]) -> Resources:
    own = {name: plain[name] for name in (CPU, MEMORY) if name in plain}
    return parse_all({**plain.get("requests", {}), **own})


@dataclass(frozen=True, slots=True)
class Workload:
    """Equal controllers and their equal pods.

    Attributes
    ----------
    requests
        What its own container asks for; nothing where `pod` brings containers.
    """

    name: Annotated[Label, setting("Name of the controller; expectations refer to it.")]
    replicas: Annotated[
        int,
        setting(
            "Number of equal pods; with steps, when it is applied, of each controller, "
            "and none without it. Of a Job how many must be done; of a DaemonSet how "
            "many are expected, one on each of the scenario's nodes without it.",
            default=None,
            maximum=100000,
            cases={STEPS: setting("", minimum=0), HALVES: setting("Number of equal pods.", required=True, minimum=1)},
        ),
    ] = 0
    requests: Annotated[
        Resources,
        form(written=PodRequests, parse=_parse_requests),
        setting("What the pod's own container asks for.", beside=True),
    ] = NOTHING
    kind: Annotated[WorkloadKind, setting("What controls the pods; Pod for pods without a controller.")] = "ReplicaSet"
    priority: Annotated[
        int,
        setting(
            "Priority of the pods; larger matters more. A PriorityClass is made for it.",
            minimum=-1000000000,
            maximum=1000000000,
        ),
    ] = 0
    image: Annotated[Filled, setting("Image name of the pods' container; nothing is pulled on a fake node.")] = "pause"
    labels: Annotated[Texts, setting("Further labels of the pods.")] = field(default_factory=dict)
    annotations: Annotated[Texts, setting("Annotations of the pods.")] = field(default_factory=dict)
    pod: Annotated[
        Anything, form(written=PodSpec), setting("Further fields of the pods' spec, any that Kubernetes knows.")
    ] = field(default_factory=dict)
    ends_in_s: Annotated[
        float,
        setting(
            "Seconds that a pod takes to end when it is deleted or evicted; its grace "
            "period is as long. One of a StatefulSet always takes a moment.",
            minimum=0,
            maximum=3600,
        ),
    ] = 0.0
    controllers: Annotated[
        int,
        setting(
            "Number of equal controllers; more than one are called <name>-0 and on, "
            "padded with zeros so that they sort as numbers.",
            only=STEPS,
            minimum=1,
            maximum=10000,
        ),
    ] = 1
    spec: Annotated[
        Anything,
        setting(
            "Further fields of the controller's spec, as Kubernetes knows them, such "
            "as volumeClaimTemplates, or the schedule of a CronJob."
        ),
    ] = field(default_factory=dict)
    runs_s: Annotated[
        float | None,
        setting(
            "Seconds that a pod runs before it is done; without it one of a Job is done at once, others run for ever.",
            minimum=0,
            maximum=86400,
        ),
    ] = None

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
class CaughtThing:
    """What to collect of a kind or of one thing."""

    objects: Annotated[Filled, setting("Every object of this kind, as YAML.")] = ""
    describe: Annotated[str, setting("The workload or object of this name, with its events.")] = ""


@dataclass(frozen=True, slots=True)
class CatchItem:
    """What to collect when a step or a check fails; ``of`` is a kind or a name."""

    what: CatchWhat
    of: str = ""

    @classmethod
    def read(cls, plain: CatchWhat | Mapping[CatchWhat, str]) -> Self:
        """Return what a file names as a word, or as a word with what it is of."""
        if isinstance(plain, str):
            return cls(plain)
        ((what, of),) = plain.items()
        return cls(what, of)


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """How the optimiser is started and bounded."""

    trigger: Annotated[
        Trigger,
        setting(
            "on-unschedulable: the scheduler asks when pods cannot be placed. manual: the run creates one PackingPlan."
        ),
    ] = "on-unschedulable"
    time_limit_s: Annotated[
        float, setting("Time limit of one solve, in seconds.", exclusiveMinimum=0, maximum=3600)
    ] = 5.0
    settle_s: Annotated[
        float,
        setting(
            "How long the set of unschedulable pods must stay the same before a solve, in seconds.",
            minimum=0,
            maximum=600,
        ),
    ] = 0.5
    policy: Annotated[
        Policy,
        setting(
            "strict: a running pod may be left unplaced only for pods of higher "
            "priority. paper: also for pods of equal priority, as Algorithm 1 is "
            "printed."
        ),
    ] = "strict"
    strategy: Annotated[Filled, setting("Name of the optimiser's strategy.")] = "lexicographic"
    harm: Annotated[
        Harm,
        setting(
            "careful: the chart's defaults say which running pods plans leave alone "
            "for what an eviction would cost them. any: also pods that have only just "
            "started, are not ready, stand alone in their workload, take long to end, "
            "or are of Jobs and StatefulSets may be evicted."
        ),
    ] = "careful"


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """The parameters of an instance that `stowage_testbed.scenario.instances` makes."""

    seed: Annotated[int, setting("The seed; the published instances have 63-bit ones.", minimum=0, maximum=2**64 - 1)]
    nodes: Annotated[int, setting("Number of nodes.", minimum=1, maximum=5000)]
    pods_per_node: Annotated[
        int, setting("Average number of pods per node; nodes times this is the number of pods.", minimum=1, maximum=500)
    ]
    priorities: Annotated[
        int,
        setting("Number of priorities; their values are 1 and up, the largest matters most.", minimum=1, maximum=1000),
    ]
    usage: Annotated[
        float, setting("Total demand over total capacity, as in 0.95 or 1.05.", exclusiveMinimum=0, maximum=10)
    ]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: the world, what is done to it, and what must come of it.

    Attributes
    ----------
    steps
        They say all that happens, in files without steps too.
    objects
        What steps apply besides the workload, by name.
    timeouts
        Seconds by kind of step, where the file differs from the defaults.
    catch
        What to collect when something fails.
    headlines
        The metrics of which a comparison gives a verdict, if the file names them.
    """

    name: str
    description: str
    nodes: tuple[NodePool, ...]
    workload: tuple[Workload, ...]
    variant: str | None = None
    source: str = ""
    labels: tuple[str, ...] = ()
    optimizer: OptimizerSettings = OptimizerSettings()
    expect: Expectations = field(default_factory=Expectations)
    instance: InstanceSpec | None = None
    objects: Mapping[str, ObjectSpec] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    catch: tuple[CatchItem, ...] = ()
    headlines: tuple[str, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    path: Path | None = None

    @property
    def scenario_id(self) -> str:
        """Return `name`, or `name@variant`."""
        return f"{self.name}@{self.variant}" if self.variant else self.name

    @property
    def pod_count(self) -> int:
        """Return the most pods that its steps ask for; without any, what it has."""
        if self.steps:
            actions = [step.action for step in self.steps]
            return count_most_pods(actions, self.pods_by_name)
        return sum(workload.pods for workload in self.workload)

    @property
    def is_planned(self) -> bool:
        """Whether an optimiser runs beside the scheduler, at some time."""
        return any(one.optimizer for one in actions_of(self.steps, Release))

    @property
    def is_measured(self) -> bool:
        """Whether steps measure anything."""
        return any(isinstance(step.action, Measure | Overload) for step in self.steps)

    @property
    def pods_by_name(self) -> dict[str, int]:
        """Return how many pods come with each workload and object that has any."""
        return count_pods_brought(self.workload, self.objects.values())

    @property
    def node_pools(self) -> tuple[NodePool, ...]:
        """Return all kinds of nodes, also those that steps add."""
        return (*self.nodes, *list_added_nodes(self.steps))

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, also those that steps and traces bring."""
        own = [name for pool in self.node_pools for name in pool.node_names()]
        return (*own, *list_replayed_nodes(self.steps))

    @property
    def first_nodes(self) -> tuple[Manifest, ...]:
        """Return the nodes that there are before the first step, in order."""
        own = [one for pool in self.nodes for one in pool.manifests()]
        traced = {
            one["metadata"]["name"]: one for recorded in list_recorded(self.steps) for one in recorded.first.nodes
        }
        return (*own, *traced.values())

    @property
    def priorities(self) -> tuple[int, ...]:
        """Return the priorities of the pods, in order."""
        found = {workload.priority for workload in self.workload}
        found |= {pod.template.priority for pod in list_replayed_pods(self.steps)}
        return tuple(sorted(found))


def count_pods_brought(workload: Iterable[Workload], objects: Iterable[ObjectSpec]) -> dict[str, int]:
    """Return how many pods come with each workload and object that has any."""
    bare = {one.name: one.pods for one in objects if one.pods}
    return bare | {one.name: one.pods for one in workload}
