"""Steps that create, change and delete workloads, objects and plans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from stowage_testbed.api.objects import is_observed
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import Condition, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import delete_object
from stowage_testbed.run.manual_plan import make_manual_plan
from stowage_testbed.run.steps.conditions import some_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.manifests import make_controllers
from stowage_testbed.scenario.model import SCALED
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn, AskForPlan, Delete, Evict, Patch, Scale, Usage

USAGE_CPU = "kwok.x-k8s.io/usage-cpu"
USAGE_MEMORY = "kwok.x-k8s.io/usage-memory"
"""Annotations from which KWOK's usage-from-annotation tells what a pod uses."""


def apply(context: StepContext, step: Apply) -> None:
    """Create workloads and objects in their order."""
    for name in step.names:
        workload, item = context.workload(name), step.changes.get(name) or context.object(name)
        if workload is not None:
            for manifest in make_controllers(workload, context.namespace):
                context.create(manifest)
        elif item is not None:
            context.create_object(item)


def apply_in_turn(context: StepContext, step: ApplyInTurn) -> None:
    """Create each when all pods before it have a node or are found unschedulable."""
    wanted, brought = context.demand.total(), context.scenario.pods_by_name
    for name in step.names:
        apply(context, Apply((name,)))
        wanted += brought.get(name, 0)
        context.wait_for(
            "all pods to have a node or be found unschedulable",
            some_pods(context.namespace, (), wanted, "settled"),
            timeout_s=context.timeout_s(),
        )


def delete(context: StepContext, step: Delete) -> None:
    """Delete workloads and objects; pods get the time that they take to end."""
    for name in step.names:
        item, workload = context.object(name), context.workload(name)
        if item is not None:
            delete_object(context.objects, item, context.namespace)
            continue
        if workload is not None:
            for one in workload.controller_names:
                context.objects.delete(workload.kind, one, namespace=context.namespace)
        if workload is None or context.made[name]:
            _delete_bare_pods(context, name)


def scale(context: StepContext, step: Scale) -> None:
    """Set the number of a workload's pods, and wait until its controller has taken it over.

    The watches show that number on return: until then the old one looks like pods that are lost.
    """
    workload = context.existing_workload(step.workload)
    context.objects.patch(workload.kind, workload.name, {"spec": {"replicas": step.to}}, namespace=context.namespace)
    _await_taken_over(context, workload.kind, workload.name, context.namespace)


def patch(context: StepContext, step: Patch) -> None:
    """Change an object, or each controller of a workload; a controller has taken the change over on return."""
    workload, item = context.workload(step.object), context.object(step.object)
    targets: list[tuple[str, str, str]]
    if workload is not None:
        targets = [(workload.kind, name, context.namespace) for name in workload.controller_names]
    elif item is not None:
        targets = [(item.kind, item.object_name, item.namespace or context.namespace)]
    else:
        kind, _, name = step.object.partition("/")
        targets = [(kind, name, context.namespace)]
    for kind, name, namespace in targets:
        context.objects.patch(
            kind, name, step.change, namespace=namespace, subresource=step.subresource, strategic=True
        )
        if kind in SCALED:
            _await_taken_over(context, kind, name, namespace)


def evict(context: StepContext, step: Evict) -> None:
    """Evict the first bound pods of a workload by name, on a node if one is named.

    The watches show that they leave on return: the next step waits for others.

    Raises
    ------
    StowageError
        There are not so many.
    ApiRefusedError
        A budget forbids it.
    """
    bound = context.run.observer.read(
        lambda state: [
            pod
            for pod in _list_pods(state, context, step.workload)
            if pod.bound and pod.live and step.node in {"", pod.node}
        ]
    )
    if len(bound) < step.pods:
        raise StowageError(
            f"{step.pods} pods of {step.workload} were to be evicted, {len(bound)} "
            "have a node; wait until they are bound, or evict fewer"
        )
    for pod in bound[: step.pods]:
        context.objects.evict(pod.name, namespace=context.namespace, uid=pod.uid)
    context.wait_for(
        "the watch to show that the evicted pods leave",
        _left(context.namespace, {pod.uid for pod in bound[: step.pods]}),
        timeout_s=HANG_S,
    )


def usage(context: StepContext, step: Usage) -> None:
    """Annotate the pods that a workload has now with what each of them uses."""
    annotations = {}
    if step.cpu is not None:
        annotations[USAGE_CPU] = f"{step.cpu}m"
    if step.memory is not None:
        annotations[USAGE_MEMORY] = str(step.memory)
    pods = context.run.observer.read(lambda state: [p for p in _list_pods(state, context, step.workload) if p.live])
    for pod in pods:
        context.objects.patch("Pod", pod.name, {"metadata": {"annotations": annotations}}, namespace=context.namespace)
    context.facts["pods"] = len(pods)


def ask_for_plan(context: StepContext, step: AskForPlan) -> None:
    """Create a PackingPlan; what becomes of it is for other steps to wait for."""
    time_limit_s = step.time_limit_s or context.scenario.optimizer.time_limit_s
    context.objects.create(
        make_manual_plan({"name": step.plan}, execution_mode=step.execution_mode, time_limit_s=time_limit_s)
    )


def _await_taken_over(context: StepContext, kind: str, name: str, namespace: str) -> None:
    """Wait until a controller has seen what was changed, and the watch the new numbers of pods."""
    wait_until(
        f"the controller of {kind} {name} to see the change",
        lambda: context.objects.read(kind, name, namespace=namespace),
        is_observed,
        timeout_s=HANG_S,
    )
    wanted = _list_replicas(context.objects.list_all("ReplicaSet", namespace))
    context.wait_for("the watch to show the new number of pods", _replicas_are(namespace, wanted), timeout_s=HANG_S)


def _list_pods(state: State, context: StepContext, workload: str) -> list[Pod]:
    pods = state.all_pods(context.namespace)
    return [pod for pod in pods if pod.workload == workload]


def _list_replicas(bodies: Iterable[JsonObject]) -> dict[str, int]:
    return {name_of(body): body["spec"]["replicas"] for body in bodies}


def _replicas_are(namespace: str, wanted: Mapping[str, int]) -> Condition:
    def condition(state: State) -> ConditionResult:
        # A comparison does not watch them, and has nothing to say of them.
        seen = _list_replicas(state.bodies("ReplicaSet", namespace))
        late = {name: count for name, count in seen.items() if wanted.get(name, count) != count}
        return ConditionResult(not late, f"seen: {late}, wanted: {wanted}")

    return condition


def _left(namespace: str, evicted: Collection[str]) -> Condition:
    def condition(state: State) -> ConditionResult:
        live = [pod.name for pod in state.pods(namespace) if pod.uid in evicted]
        return ConditionResult(not live, f"still there: {', '.join(live) or 'none'}")

    return condition


def _delete_bare_pods(context: StepContext, workload: str) -> None:
    pods = context.run.observer.read(lambda state: _list_pods(state, context, workload))
    for pod in pods:
        context.objects.delete("Pod", pod.name, namespace=context.namespace)
