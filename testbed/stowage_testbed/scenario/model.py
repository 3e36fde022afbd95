"""A scenario as the rest of the testbed sees it: typed, checked, parameters filled in, instances expanded."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Required, Self

from annotated_types import Gt, Interval, Le, MinLen
from pydantic import with_config
from typing_extensions import TypedDict

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.cluster.devices import DEVICE_KINDS, Devices
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates, make_gates
from stowage_testbed.cluster.node_pool import NodePool, devices_by_node
from stowage_testbed.observe.pod import requests_of
from stowage_testbed.observe.pod_group import POD_GROUP_VERSION
from stowage_testbed.scenario.expected import Expectations, ExpectedMoment
from stowage_testbed.scenario.objects import ObjectSpec
from stowage_testbed.scenario.steps.action import Action, Step, actions_of, count_most_pods
from stowage_testbed.scenario.steps.applying import ApplyInTurn
from stowage_testbed.scenario.steps.checking import QUIET_S, Check, Checkpoint
from stowage_testbed.scenario.steps.nodes import AddNodes
from stowage_testbed.scenario.steps.overloading import Measure, Overload
from stowage_testbed.scenario.steps.releasing import Pack, Release
from stowage_testbed.scenario.steps.replaying import list_recorded, list_replayed_nodes
from stowage_testbed.scenario.steps.waiting import Wait
from stowage_testbed.scenario.types import (
    Anything,
    Cpu,
    Filled,
    Further,
    Label,
    LabelKey,
    Memory,
    Quantity,
    Seed,
    Some,
    Texts,
    Written,
)

WorkloadKind = Literal["ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"]


@with_config(extra="allow")
class ContainerResources(TypedDict, total=False):
    """What a container asks for and may use."""

    requests: Mapping[str, Quantity]
    """What the scheduler counts."""


@with_config(extra="allow")
class Container(TypedDict, total=False):
    """A container of a pod."""

    name: Required[Label]
    """Name of the container."""
    image: Required[Filled]
    """Image name; nothing is pulled on a fake node."""
    resources: ContainerResources
    """Requests and limits."""


@with_config(extra="allow")
class Pod(TypedDict, total=False):
    """What a pod is; whatever else Kubernetes knows may stand there, too."""

    affinity: Anything
    """Node affinity, pod affinity and anti-affinity."""
    containers: Annotated[tuple[Container, ...], MinLen(1)]
    """Containers in the place of the one that cpu, memory and image describe; these three are then left out of the
    workload."""
    initContainers: tuple[Container, ...]
    """Containers that are done before, or run beside."""
    nodeSelector: Texts
    """Labels that a node must have."""
    overhead: Mapping[str, Quantity]
    """What the pod takes besides."""
    schedulingGates: tuple[Anything, ...]
    """Gates that hold the pods back from scheduling."""
    tolerations: tuple[Anything, ...]
    """Taints that the pods tolerate."""
    topologySpreadConstraints: tuple[Anything, ...]
    """How the pods spread over zones or nodes."""


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods that are placed together or not at all, by a PodGroup of Kubernetes."""

    minCount: Some  # noqa: N815 - as Kubernetes calls it
    """How many of them must have a node at once; further ones come as there is room."""
    disruption: Literal["single", "all"] = "single"
    """Whether pods that run may be disrupted one by one, or all of them together only."""
    topologyKey: LabelKey | None = None  # noqa: N815 - as Kubernetes calls it
    """Label of nodes, as that of a rack: all of the pods are on nodes with one value of it."""


def make_gang_features(gangs: Collection[Gang]) -> FeatureGates:
    """Return what a cluster has for gangs; nothing for none."""
    if not gangs:
        return DEFAULTS
    topology = {"TopologyAwareWorkloadScheduling": True} if any(one.topologyKey for one in gangs) else {}
    return make_gates({"GenericWorkload": True, **topology}, (POD_GROUP_VERSION,))


_LEFT_OUT: Any = None  # In the place of a number that is filled in before anybody reads it


@dataclass(frozen=True, slots=True)
class Workload:
    """The controllers of equal pods, as a file has them."""

    name: Label
    """Name of the controller; expectations refer to it."""
    replicas: Annotated[int, Interval(ge=0, le=100000)] = _LEFT_OUT
    """Number of equal pods when it is applied, of each controller, and none without it. Of a Job how many must be done;
    of a DaemonSet how many are expected, one on each of the scenario's nodes without it."""
    cpu: InitVar[Cpu] = 0
    """CPU request of one pod, as in 100m; without it, none."""
    memory: InitVar[Memory] = 0
    """Memory request of one pod, as in 2G or 512Mi; without it, none."""
    requests: Annotated[Resources, Written(Mapping[Further, Memory], Resources)] = field(default_factory=Resources)
    """What one pod asks for besides cpu and memory, as in nvidia.com/gpu, hugepages-2Mi or ephemeral-storage."""
    kind: WorkloadKind = "ReplicaSet"
    """What controls the pods; Pod for pods without a controller."""
    priority: Annotated[int, Interval(ge=-1000000000, le=1000000000)] = 0
    """Priority of the pods; larger matters more. A PriorityClass is made for it."""
    gang: Gang | None = None
    """The pods of each controller are a gang. Its PodGroup is called as the controller is, and is there before it. The
    run's cluster has the feature gate and the API that this takes."""
    image: Filled = "pause"
    """Image name of the pods' container; nothing is pulled on a fake node."""
    labels: Texts = field(default_factory=dict)
    """Further labels of the pods."""
    annotations: Texts = field(default_factory=dict)
    """Annotations of the pods."""
    pod: Annotated[Anything, Written(Pod, dict)] = field(default_factory=dict)
    """Further fields of the pods' spec, any that Kubernetes knows."""
    ends_in_s: Annotated[float, Interval(ge=0, le=3600)] = 0.0
    """Seconds that a pod takes to end when it is deleted or evicted; its grace period is as long. One of a StatefulSet
    always takes a moment."""
    controllers: Annotated[int, Interval(ge=1, le=10000)] = 1
    """Number of equal controllers; more than one are called <name>-0 and on, padded with zeros so that they sort as
    numbers."""
    spec: Anything = field(default_factory=dict)
    """Further fields of the controller's spec, as Kubernetes knows them, such as volumeClaimTemplates, or the schedule
    of a CronJob."""
    runs_s: Annotated[float, Interval(ge=0, le=86400)] | None = None
    """Seconds that a pod runs before it is done; without it one of a Job is done at once, others run for ever."""

    def __post_init__(self, cpu: int, memory: int) -> None:
        if self.kind == "CronJob" and "schedule" not in self.spec:
            raise ValueError(f"CronJob {self.name!r} has no schedule; write it as `spec: {{schedule: ...}}`")
        # From here on the requests have cpu and memory, too; `replace` adds nothing to them.
        object.__setattr__(self, "requests", self.requests + Resources(cpu=cpu, memory=memory))
        if self.kind != "DaemonSet" and self.replicas is _LEFT_OUT:
            object.__setattr__(self, "replicas", 0)

    def expect_on(self, nodes: int) -> Self:
        """Return the workload in which a DaemonSet that names no number expects a pod on each of so many nodes."""
        return replace(self, replicas=nodes) if self.replicas is _LEFT_OUT else self

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


class CaughtThing(TypedDict, total=False):
    """What to collect of a kind or of one thing; one of the two."""

    objects: Filled
    """Every object of this kind, as YAML."""
    describe: str
    """The workload or object of this name, with its events."""


@dataclass(frozen=True, slots=True)
class CatchItem:
    """What to collect when a step or a check fails; ``of`` is a kind or a name."""

    what: Literal["events", "logs", "objects", "describe"]
    of: str = ""


def _read_catch(written: Literal["events", "logs"] | Mapping[Literal["objects", "describe"], str]) -> CatchItem:
    if isinstance(written, str):
        return CatchItem(written)
    if len(written) != 1:
        raise ValueError("names `objects` or `describe`; keep one and move the other")
    return CatchItem(*next(iter(written.items())))


Catch = Annotated[CatchItem, Written(Literal["events", "logs"] | CaughtThing, _read_catch)]


@dataclass(frozen=True, slots=True)
class OptimizerSettings:
    """How the optimiser is started and bounded."""

    trigger: Literal["on-unschedulable", "manual"] = "on-unschedulable"
    """on-unschedulable: the scheduler asks when pods cannot be placed. manual: the run creates one PackingPlan."""
    time_limit_s: Annotated[float, Gt(0), Le(3600)] = 5.0
    """Time limit of one solve, in seconds."""
    settle_s: Annotated[float, Interval(ge=0, le=600)] = 0.5
    """How long the set of unschedulable pods must stay the same before a solve, in seconds."""
    policy: Literal["strict", "paper"] = "strict"
    """strict: a running pod may be left unplaced only for pods of higher priority. paper: also for pods of equal
    priority, as Algorithm 1 is printed."""
    strategy: Filled = "lexicographic"
    """Name of the optimiser's strategy."""
    harm: Literal["careful", "any"] = "careful"
    """careful: the chart's defaults say which running pods plans leave alone for what an eviction would cost them. any:
    also pods that have only just started, are not ready, stand alone in their workload, take long to end, or are of
    Jobs and StatefulSets may be evicted."""


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """The parameters of an instance that `stowage_testbed.scenario.instances` makes."""

    seed: Seed
    """The seed; the published instances have 63-bit ones."""
    nodes: Annotated[int, Interval(ge=1, le=5000)]
    """Number of nodes."""
    pods_per_node: Annotated[int, Interval(ge=1, le=500)]
    """Average number of pods per node; nodes times this is the number of pods."""
    priorities: Annotated[int, Interval(ge=1, le=1000)]
    """Number of priorities; their values are 1 and up, the largest matters most."""
    usage: Annotated[float, Gt(0), Le(10)]
    """Total demand over total capacity, as in 0.95 or 1.05."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run: the world, what is done to it (`steps` say all of it), and what must come of it."""

    name: str
    description: str
    nodes: tuple[NodePool, ...]
    workload: tuple[Workload, ...]
    variant: str | None = None
    source: str = ""
    labels: tuple[str, ...] = ()
    features: FeatureGates = DEFAULTS
    optimizer: OptimizerSettings = OptimizerSettings()
    expect: Expectations = field(default_factory=lambda: Expectations(ExpectedMoment()))
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
            return count_most_pods((step.action for step in self.steps), self.pods_by_name)[0]
        return sum(workload.pods for workload in self.workload)

    @property
    def is_planned(self) -> bool:
        """Whether an optimiser runs beside the scheduler, at some time."""
        return any(one.optimizer for one in actions_of(self.steps, Release))

    @property
    def is_measured(self) -> bool:
        """Whether steps open and close a measured window, or overload a service."""
        edges = {one.edge for one in actions_of(self.steps, Measure)}
        return edges == {"start", "stop"} or any(actions_of(self.steps, Overload))

    @property
    def pods_by_name(self) -> dict[str, int]:
        """Return how many pods come with each workload and object that has any."""
        bare = {one.name: one.pods for one in self.objects.values() if one.pods}
        return bare | {one.name: one.pods for one in self.workload}

    @property
    def pools(self) -> tuple[NodePool, ...]:
        """Return the kinds of nodes that the file describes: first ones, and those that steps add."""
        return (*self.nodes, *(one.pool for one in actions_of(self.steps, AddNodes)))

    @property
    def devices(self) -> tuple[Devices, ...]:
        """Return the devices of all kinds of nodes."""
        return tuple(dict.fromkeys(one for pool in self.pools for one in pool.devices))

    @property
    def devices_by_node(self) -> dict[str, tuple[Devices, ...]]:
        """Return the devices of each node that has any, also of those that steps add."""
        return devices_by_node(self.pools)

    @property
    def has_claims(self) -> bool:
        """Whether there may be claims for devices: for those of nodes, or by an object, also of a trace."""
        kinds = {one.kind for one in self.objects.values()}
        kinds = kinds.union(*(one.kinds for one in list_recorded(self.steps)))
        return bool(self.devices) or not kinds.isdisjoint(DEVICE_KINDS)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, also those that steps and traces bring."""
        own = [name for pool in self.pools for name in pool.node_names()]
        given = [one.object_name for one in self.node_objects]
        return (*own, *given, *list_replayed_nodes(self.steps))

    @property
    def node_objects(self) -> tuple[ObjectSpec, ...]:
        """Return the nodes among the objects."""
        return tuple(one for one in self.objects.values() if one.is_node)

    @property
    def first_nodes(self) -> tuple[Manifest, ...]:
        """Return the nodes that there are before the first step, in order."""
        own = [one for pool in self.nodes for one in pool.manifests()]
        traced = {
            one["metadata"]["name"]: one for recorded in list_recorded(self.steps) for one in recorded.first_nodes
        }
        return (*own, *traced.values())

    @property
    def priorities(self) -> tuple[int, ...]:
        """Return the priorities of the pods, in order."""
        return tuple(sorted({workload.priority for workload in self.workload}))


MOST_HEADLINES = 6  # Each one more makes all of them harder to show
GENERAL = ("t_sched_mean_s", "t_sched_p99_s", "throughput_pods_per_s", "placed_pods", "jain_pods")
"""Speed, tail, rate, result, spread."""

OF_RECOVERY = ("ttr_s", "recovered_runs")  # What is asked for first of a service that was overloaded


def choose_headlines(scenario: Scenario) -> tuple[str, ...]:
    """Return the headlines, the one that leads first.

    The file's own, or recovery, the general ones, and what has bounds.
    """
    if scenario.headlines:
        return scenario.headlines
    found = (*(OF_RECOVERY if any(actions_of(scenario.steps, Overload)) else ()), *GENERAL, *scenario.expect.metrics)
    return tuple(dict.fromkeys(found))[:MOST_HEADLINES]


BEFORE, AFTER = "before", "after"  # The checkpoints before the optimiser packs, and after it


def imply_steps(workload: Sequence[Workload | ObjectSpec]) -> tuple[Step, ...]:
    """Have a deterministic scheduler place the workload, then the optimiser pack what is there."""
    return make_steps(
        (
            Release(),
            ApplyInTurn(tuple(one.name for one in workload)),
            Wait("settled", stable_s=QUIET_S),
            Checkpoint(BEFORE),
            Release("optimizer", optimizer=True),
            Pack(),
            Check(since=BEFORE),
            Checkpoint(AFTER),
        )
    )


def make_steps(actions: Iterable[Action]) -> tuple[Step, ...]:
    """Return actions as steps that stand in no line of a file."""
    return tuple(Step(n, 0, action) for n, action in enumerate(actions, start=1))
