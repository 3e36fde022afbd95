"""Steps that change the nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Interval, MinLen

from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.devices import NODE_LABEL, Devices, find_fault
from stowage_testbed.cluster.node_pool import Effect, NodePool, Taint, create_nodes
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import SHOWN, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import RESOURCE_SLICES
from stowage_testbed.observe.state import State
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.context import StepContext, none_left
from stowage_testbed.scenario.types import (
    Filled,
    Further,
    Label,
    NodeNames,
    Seconds,
    Some,
    SomeCpu,
    SomeMemory,
    Texts,
    Written,
)

if TYPE_CHECKING:
    from stowage_testbed.observe.observer import Observer


def _list_devices(written: Devices | tuple[Devices, ...]) -> tuple[Devices, ...]:
    devices = (written,) if isinstance(written, Devices) else written
    if fault := find_fault(devices):
        raise ValueError(fault)
    return devices


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Equal nodes, as a file has them."""

    prefix: Label = "node"
    """Names are <prefix>-0 and on, padded with zeros so that they sort as numbers."""
    count: Annotated[int, Interval(ge=1, le=10000)]
    """Number of nodes."""
    cpu: SomeCpu
    """CPU of one node, as in "4" or 500m."""
    memory: SomeMemory
    """Memory of one node, as in 4G or 512Mi."""
    pods: Some = MOST_PODS
    """Most pods that one node takes."""
    resources: Mapping[Further, SomeMemory] = field(default_factory=dict)
    """Further resources of one node, as in nvidia.com/gpu, hugepages-2Mi or ephemeral-storage."""
    labels: Texts = field(default_factory=dict)
    """Labels of the nodes."""
    taints: tuple[Taint, ...] = ()
    """Taints of the nodes."""
    zones: tuple[Filled, ...] = ()
    """Values of topology.kubernetes.io/zone, dealt out to the nodes in turn."""
    devices: Annotated[
        tuple[Devices, ...], Written(Devices | Annotated[tuple[Devices, ...], MinLen(1)], _list_devices)
    ] = ()
    """Devices of one node, such as GPUs, which claims of Dynamic Resource Allocation ask for."""

    def make(self) -> NodePool:
        """Return the nodes."""
        sizes = Resources(self.resources, cpu=self.cpu, memory=self.memory, pods=self.pods)
        return NodePool(self.prefix, self.count, sizes, self.labels, self.taints, self.zones, self.devices)


Node = Annotated[NodePool, Written(Nodes, Nodes.make)]


@dataclass(frozen=True, slots=True)
class Cordon(Action):
    """Close nodes for new pods."""

    kind = "cordon"
    bare = True
    nodes: NodeNames

    def carry_out(self, context: StepContext) -> None:
        _patch_spec(context, self.nodes, {"unschedulable": True})


@dataclass(frozen=True, slots=True)
class Uncordon(Action):
    """Open nodes again."""

    kind = "uncordon"
    bare = True
    nodes: NodeNames

    def carry_out(self, context: StepContext) -> None:
        _patch_spec(context, self.nodes, {"unschedulable": None})


def _patch_spec(context: StepContext, names: Iterable[str], spec: Mapping[str, Any]) -> None:
    for name in names:
        await_watch(context, context.objects.patch("Node", name, {"spec": spec}))


def await_watch(context: StepContext, changed: JsonObject, kind: str = "Node") -> None:
    """Return when the watch has a node, or an object of another kind, as it was changed.

    The scheduler learns of nodes and of pods by two watches, and would place a pod that the next step brings by what
    the node was, if that of the nodes were late.
    """
    name, version = name_of(changed), int(changed["metadata"]["resourceVersion"])

    def condition(state: State) -> ConditionResult:
        seen = [int(body["metadata"]["resourceVersion"]) for body in state.bodies(kind) if name_of(body) == name]
        words = f"{name} is of version {max(seen, default=0)}, not {version} yet"
        return ConditionResult(max(seen, default=0) >= version, words)

    context.wait_for(f"the watch to show that {name} has changed", condition, timeout_s=HANG_S)


RETRIED_AFTER_S = 0.2  # Between two tries: that a budget has room again shows in nothing that is watched


@dataclass(frozen=True, slots=True)
class Drain(Action):
    """Cordon nodes and evict their pods, as their disruption budgets allow.

    A pod that a budget protects is tried again until the deadline.
    """

    kind = "drain"
    deadline = "settle"
    nodes: NodeNames
    """Which nodes."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""

    def carry_out(self, context: StepContext) -> None:
        """At the deadline each pod that is left is named with the budget that protects it."""
        Cordon(self.nodes).carry_out(context)
        granted = set[str]()

        def list_pods(state: State) -> list[Pod]:
            return [one for one in state.all_pods(context.namespace) if one.node in self.nodes and not one.finished]

        def evict_all() -> str:
            """Evict what may go, and return in words what is left; empty for nothing."""
            said = [f"{pod.name} ({_drain_pod(context, pod, granted)})" for pod in context.observer.read(list_pods)]
            more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
            return f"{', '.join(said[:SHOWN])}{more}"

        what = f"{', '.join(self.nodes[:SHOWN])} to be drained"
        wait_until(what, evict_all, lambda left: not left, timeout_s=context.timeout_s(), poll_s=RETRIED_AFTER_S)


def _drain_pod(context: StepContext, pod: Pod, granted: set[str]) -> str:
    """Ask for the eviction of a pod until it is granted; return the answer."""
    if pod.terminating or pod.uid in granted:
        return "evicted, not gone yet"
    if not pod.owner_kind:
        raise StowageError(
            f"pod {pod.name} on {pod.node} has no controller that would replace it; delete it before, or use "
            "`remove-nodes`"
        )
    try:
        context.objects.evict(pod.name, namespace=context.namespace, uid=pod.uid)
    except ApiRefusedError as error:
        if error.status != HTTPStatus.TOO_MANY_REQUESTS:
            raise
        return str(error)
    granted.add(pod.uid)
    return "evicted just now"


Taints = list[dict[str, Any]]

TRIES = 5  # How often a node is read again when it was changed meanwhile


@dataclass(frozen=True, slots=True)
class TaintNodes(Action):
    """Give nodes a taint."""

    kind = "taint"
    nodes: NodeNames
    """Which nodes."""
    key: Filled
    """The taint's key."""
    effect: Effect
    """What happens to pods that do not tolerate it."""
    value: str = ""
    """The taint's value."""

    def carry_out(self, context: StepContext) -> None:
        """It takes the place of one of the same key and effect."""
        new = {"key": self.key, "value": self.value, "effect": self.effect}
        for name in self.nodes:
            _change_taints(context, name, lambda old: [*drop_taint(old, self.key, self.effect), new])


@dataclass(frozen=True, slots=True)
class UntaintNodes(Action):
    """Take taints from nodes."""

    kind = "untaint"
    nodes: NodeNames
    """Which nodes."""
    key: Filled
    """The taints' key."""
    effect: Effect | None = None
    """Only those of this effect; without it all."""

    def carry_out(self, context: StepContext) -> None:
        for name in self.nodes:
            _change_taints(context, name, lambda old: drop_taint(old, self.key, self.effect))


def _change_taints(context: StepContext, node: str, change: Callable[[Taints], Taints]) -> None:
    """Change a node's taints, unless somebody else does so in the same moment.

    A merge replaces the whole list, and controllers write taints of their own.
    """
    for tries_left in reversed(range(TRIES)):
        body = context.objects.read("Node", node)
        taints = change(list(body.get("spec", {}).get("taints") or []))
        version = {"resourceVersion": body["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": taints or None}}
        try:
            await_watch(context, context.objects.patch("Node", node, patch))
        except ApiRefusedError as error:
            if error.status != HTTPStatus.CONFLICT or not tries_left:
                raise
        else:
            return


def drop_taint(taints: Taints, key: str, effect: str | None) -> Taints:
    """Return the taints without those of a key, and of an effect if one is named."""
    return [one for one in taints if one["key"] != key or effect not in {None, one["effect"]}]


@dataclass(frozen=True, slots=True)
class AddNodes(Action):
    """Add nodes of one kind, and wait until they are ready."""

    kind = "add-nodes"
    bare = True
    deadline = "nodes"
    pool: Node

    @property
    def changed_nodes(self) -> int:
        return self.pool.count

    def carry_out(self, context: StepContext) -> None:
        create_nodes(context.api, [self.pool], timeout_s=context.timeout_s())


@dataclass(frozen=True, slots=True)
class RemoveNodes(Action):
    """Remove nodes with their pods, and wait until they are gone."""

    kind = "remove-nodes"
    bare = True
    deadline = "nodes"
    nodes: NodeNames

    @property
    def changed_nodes(self) -> int:
        return len(self.nodes)

    def carry_out(self, context: StepContext) -> None:
        for name in self.nodes:
            context.objects.delete("Node", name)
            collect_pods(context.observer, context.objects, context.namespace, name)
        unwanted = set(self.nodes)

        def list_left(state: State) -> list[str]:
            nodes = unwanted.intersection(name_of(body) for body in state.bodies("Node"))
            pods = (pod.name for pod in state.all_pods(context.namespace) if pod.node in unwanted)
            return [*sorted(nodes), *pods, *list_slices(state, unwanted)]

        context.wait_for(f"{', '.join(self.nodes[:SHOWN])} and their pods to be gone", none_left(list_left))


def list_slices(state: State, nodes: Collection[str]) -> list[str]:
    """Return the slices that nodes own, as far as they are watched: the garbage collector takes them."""
    found = []
    for body in state.bodies(RESOURCE_SLICES.kind):
        if (body["metadata"].get("labels") or {}).get(NODE_LABEL) in nodes:
            found.append(f"{RESOURCE_SLICES.kind} {name_of(body)}")
    return found


def collect_pods(observer: Observer, objects: Objects, namespace: str, node: str) -> None:
    """Delete the pods of a node that is gone, as the pod garbage collector does, which waits for most of a minute."""
    for pod in observer.read(lambda state: state.all_pods(namespace)):
        if pod.node == node:
            objects.delete("Pod", pod.name, namespace=namespace, at_once=True)
