"""Steps that create, change and delete workloads, objects and plans."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.api.objects import is_observed
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import ConditionResult, at_rest, packed
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import delete_object
from stowage_testbed.run.release import execute_manual_plan, make_manual_plan
from stowage_testbed.run.steps.context import StepContext, none_left
from stowage_testbed.run.steps.waiting import some_pods
from stowage_testbed.scenario.manifests import make_controllers
from stowage_testbed.scenario.model import SCALED
from stowage_testbed.scenario.steps.applying import (
    Apply,
    ApplyInTurn,
    AskForPlan,
    Delete,
    Evict,
    Pack,
    Patch,
    Release,
    Scale,
    Usage,
)

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
        settled = some_pods(context.namespace, (), wanted, "settled")
        context.wait_for("all pods to have a node or be found unschedulable", settled)


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
            for pod in context.pods_of(name):
                context.objects.delete("Pod", pod.name, namespace=context.namespace)


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
    """
    pods = context.pods_of(step.workload)
    bound = [pod for pod in pods if pod.bound and pod.live and step.node in {"", pod.node}]
    if len(bound) < step.pods:
        raise StowageError(
            f"{step.pods} pods of {step.workload} were to be evicted, {len(bound)} "
            "have a node; wait until they are bound, or evict fewer"
        )
    for pod in bound[: step.pods]:
        context.objects.evict(pod.name, namespace=context.namespace, uid=pod.uid)
    evicted = {pod.uid for pod in bound[: step.pods]}

    def list_live(state: State) -> list[str]:
        return [pod.name for pod in state.pods(context.namespace) if pod.uid in evicted]

    context.wait_for("the watch to show that the evicted pods leave", none_left(list_live), timeout_s=HANG_S)


def usage(context: StepContext, step: Usage) -> None:
    """Annotate the pods that a workload has now with what each of them uses."""
    annotations = {}
    if step.cpu is not None:
        annotations[USAGE_CPU] = f"{step.cpu}m"
    if step.memory is not None:
        annotations[USAGE_MEMORY] = str(step.memory)
    pods = [pod for pod in context.pods_of(step.workload) if pod.live]
    for pod in pods:
        context.objects.patch("Pod", pod.name, {"metadata": {"annotations": annotations}}, namespace=context.namespace)
    context.facts["pods"] = len(pods)


def ask_for_plan(context: StepContext, step: AskForPlan) -> None:
    """Create a PackingPlan; what becomes of it is for other steps to wait for."""
    time_limit_s = step.time_limit_s or context.scenario.optimizer.time_limit_s
    plan = make_manual_plan({"name": step.plan}, execution_mode=step.execution_mode, time_limit_s=time_limit_s)
    context.objects.create(plan)


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


QUIET_MARGIN_S = 0.5
"""Beyond the settle time, in which a trigger that comes again would show itself."""


def release(context: StepContext, step: Release) -> None:
    """Have the release serve, unless another scheduler does."""
    if context.harness.is_released:
        context.harness.release(context.run, context.scenario, step, context.recorder)
    context.is_planned |= step.optimizer
    context.try_objects()


def pack(context: StepContext, step: Pack) -> None:
    """Wait until the optimiser is done, after asking for a plan if it must be asked.

    One plan is asked for, and one is made, whether it is the best or not.
    """
    del step
    run, scenario = context.run, context.scenario
    is_done = packed if context.harness.is_released else at_rest
    if scenario.optimizer.trigger == "manual" and context.harness.is_released:
        execute_manual_plan(run, scenario)
        is_done = at_rest
    run.observer.wait_for(
        f"the optimiser to be done with {scenario.scenario_id}",
        is_done(context.namespace, context.demand.total()),
        timeout_s=run.timeouts.plan_s(scenario),
        quiet_s=scenario.optimizer.settle_s + QUIET_MARGIN_S,
        quiet_kinds=("Pod", "PackingPlan"),
    )
