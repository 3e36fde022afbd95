"""Steps that change workloads, pods and objects that are there."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Interval, MinLen

from stowage_testbed.api.objects import is_observed
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.scenario.manifests import SCALED
from stowage_testbed.scenario.steps.action import Action, Demand, Where
from stowage_testbed.scenario.steps.context import StepContext, none_left
from stowage_testbed.scenario.types import Anything, Cpu, Memory, Of, Some, Sort

USAGE_CPU = "kwok.x-k8s.io/usage-cpu"
USAGE_MEMORY = "kwok.x-k8s.io/usage-memory"
"""Annotations from which KWOK's usage-from-annotation tells what a pod uses."""


@dataclass(frozen=True, slots=True)
class Scale(Action):
    """Set a workload's number of pods."""

    kind = "scale"
    workload: Annotated[str, Of("controller")]
    """Whose."""
    to: Annotated[int, Interval(ge=0, le=100000)]
    """How many pods it shall have."""

    def ask(self, demand: Demand) -> None:
        if self.workload in demand:
            demand[self.workload] = self.to

    def carry_out(self, context: StepContext) -> None:
        """Return when the watches show the number, too: until then the old one looks like pods that are lost."""
        kind, change = context.workloads[self.workload].kind, {"spec": {"replicas": self.to}}
        context.objects.patch(kind, self.workload, change, namespace=context.namespace)
        _await_taken_over(context, kind, self.workload, context.namespace)


@dataclass(frozen=True, slots=True)
class Patch(Action):
    """Change any part of an object, as `kubectl patch` does: a rollout, a gate, a resize, a quota, a node's label.

    Lists whose elements Kubernetes tells apart by a key, such as containers, are merged element by element.
    """

    kind = "patch"
    object: Annotated[str, Of("applied")]
    """A workload or object of the scenario, or `Kind/name`, as in `Node/node-0` or `Pod/db-1`."""
    change: Annotated[Anything, MinLen(1)]
    """The fields that it shall have; null removes one."""
    subresource: Literal["", "status", "resize", "scale"] = ""
    """The part that takes the change; `resize` for the resources of a running pod, which a fake node grants at once."""

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the name, unless it names any object of the cluster."""
        return (one for one in Action.uses(self) if "/" not in one[1])

    def ask(self, demand: Demand) -> None:
        spec = self.change.get("spec")
        replicas = spec.get("replicas") if isinstance(spec, Mapping) else None
        if isinstance(replicas, int):
            demand[self.object] = replicas

    def carry_out(self, context: StepContext) -> None:
        workload, item = context.workloads.get(self.object), context.scenario.objects.get(self.object)
        kind, _, name = self.object.partition("/")
        names: tuple[str, ...] = (name,)
        namespace = context.namespace
        if workload is not None:
            kind, names = workload.kind, workload.controller_names
        elif item is not None:
            kind, names, namespace = item.kind, (item.object_name,), item.namespace or namespace
        for one in names:
            context.objects.patch(
                kind, one, self.change, namespace=namespace, subresource=self.subresource, strategic=True
            )
            if kind in SCALED:
                _await_taken_over(context, kind, one, namespace)


def _await_taken_over(context: StepContext, kind: str, name: str, namespace: str) -> None:
    """Wait until a controller has seen what was changed, and the watch the new numbers of pods."""
    wait_until(
        f"the controller of {kind} {name} to see the change",
        lambda: context.objects.read(kind, name, namespace=namespace),
        is_observed,
    )
    wanted = _list_replicas(context.objects.list_all("ReplicaSet", namespace))

    def replicas_are(state: State) -> ConditionResult:
        # A comparison does not watch them, and has nothing to say of them.
        seen = _list_replicas(state.bodies("ReplicaSet", namespace))
        late = {name: count for name, count in seen.items() if wanted.get(name, count) != count}
        return ConditionResult(not late, f"seen: {late}, wanted: {wanted}")

    context.wait_for("the watch to show the new number of pods", replicas_are, timeout_s=HANG_S)


def _list_replicas(bodies: Iterable[JsonObject]) -> dict[str, int]:
    return {name_of(body): body["spec"]["replicas"] for body in bodies}


@dataclass(frozen=True, slots=True)
class Evict(Action):
    """Evict running pods of a workload, as a drain does; its controller replaces them."""

    kind = "evict"
    workload: Annotated[str, Of("controller")]
    """Whose."""
    pods: Some = 1
    """How many, the first by name."""
    node: Annotated[str, Of("node")] = ""
    """Only pods on this node; without it on any."""

    def carry_out(self, context: StepContext) -> None:
        """Return when the watches show that they leave: the next step waits for others."""
        pods = context.pods_of(self.workload)
        bound = [pod for pod in pods if pod.bound and pod.live and self.node in {"", pod.node}]
        if len(bound) < self.pods:
            raise StowageError(
                f"{self.pods} pods of {self.workload} were to be evicted, {len(bound)} "
                "have a node; wait until they are bound, or evict fewer"
            )
        for pod in bound[: self.pods]:
            context.objects.evict(pod.name, namespace=context.namespace, uid=pod.uid)
        evicted = {pod.uid for pod in bound[: self.pods]}

        def list_live(state: State) -> list[str]:
            return [pod.name for pod in state.pods(context.namespace) if pod.uid in evicted]

        context.wait_for("the watch to show that the evicted pods leave", none_left(list_live), timeout_s=HANG_S)


@dataclass(frozen=True, slots=True)
class Usage(Action):
    """Set what each pod that a workload has now uses from now on."""

    kind = "usage"
    workload: Annotated[str, Of("pods")]
    """Whose."""
    cpu: Cpu | None = None
    """CPU that each pod uses, as in 250m; without it, it stays as it was."""
    memory: Memory | None = None
    """Memory that each pod uses, as in 64Mi; without it, it stays as it was."""

    def __post_init__(self) -> None:
        if self.cpu is None and self.memory is None:
            raise ValueError("usage of what? write `cpu`, `memory` or both")

    def carry_out(self, context: StepContext) -> None:
        annotations = {}
        if self.cpu is not None:
            annotations[USAGE_CPU] = f"{self.cpu}m"
        if self.memory is not None:
            annotations[USAGE_MEMORY] = str(self.memory)
        change = {"metadata": {"annotations": annotations}}
        pods = [pod for pod in context.pods_of(self.workload) if pod.live]
        for pod in pods:
            context.objects.patch("Pod", pod.name, change, namespace=context.namespace)
        context.facts["pods"] = len(pods)
