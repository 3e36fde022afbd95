"""Steps that change the nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.node_pool import create_nodes
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import SHOWN, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.steps.context import StepContext, none_left
from stowage_testbed.scenario.steps.nodes import (
    AddNodes,
    Cordon,
    Drain,
    RemoveNodes,
    TaintNodes,
    Uncordon,
    UntaintNodes,
)

Taints = list[dict[str, Any]]

TRIES = 5
"""How often a node is read again when it was changed meanwhile."""


def cordon(context: StepContext, step: Cordon) -> None:
    """Close nodes for new pods."""
    _patch_spec(context, step.nodes, {"unschedulable": True})


def uncordon(context: StepContext, step: Uncordon) -> None:
    """Open nodes again."""
    _patch_spec(context, step.nodes, {"unschedulable": None})


def taint(context: StepContext, step: TaintNodes) -> None:
    """Give nodes a taint, in the place of one of the same key and effect."""
    new = {"key": step.key, "value": step.value, "effect": step.effect}
    for name in step.nodes:
        _change_taints(context, name, lambda old: [*_drop_taint(old, step.key, step.effect), new])


def untaint(context: StepContext, step: UntaintNodes) -> None:
    """Take the taints of a key, and of an effect if one is named, from nodes."""
    for name in step.nodes:
        _change_taints(context, name, lambda old: _drop_taint(old, step.key, step.effect))


def add_nodes(context: StepContext, step: AddNodes) -> None:
    """Create nodes in their order; all are ready on return."""
    create_nodes(context.run.api, [step.pool], timeout_s=context.timeout_s())


def remove_nodes(context: StepContext, step: RemoveNodes) -> None:
    """Delete nodes and their pods; all are gone on return."""
    for name in step.nodes:
        context.objects.delete("Node", name)
        collect_pods(context.run, context.namespace, name)
    unwanted = set(step.nodes)

    def list_left(state: State) -> list[str]:
        nodes = unwanted.intersection(name_of(body) for body in state.bodies("Node"))
        return [*sorted(nodes), *(pod.name for pod in state.all_pods(context.namespace) if pod.node in unwanted)]

    context.wait_for(f"{', '.join(step.nodes[:SHOWN])} and their pods to be gone", none_left(list_left))


def _patch_spec(context: StepContext, names: Iterable[str], spec: Mapping[str, Any]) -> None:
    for name in names:
        _await_watch(context, context.objects.patch("Node", name, {"spec": spec}))


def _await_watch(context: StepContext, changed: JsonObject) -> None:
    """Return when the watch has a node as it was changed.

    The scheduler learns of nodes and of pods by two watches, and would place a pod that the next step brings by what
    the node was, if that of the nodes were late.
    """
    name, version = name_of(changed), int(changed["metadata"]["resourceVersion"])

    def condition(state: State) -> ConditionResult:
        seen = [int(body["metadata"]["resourceVersion"]) for body in state.bodies("Node") if name_of(body) == name]
        words = f"{name} is of version {max(seen, default=0)}, not {version} yet"
        return ConditionResult(max(seen, default=0) >= version, words)

    context.wait_for(f"the watch to show that {name} has changed", condition, timeout_s=HANG_S)


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
            _await_watch(context, context.objects.patch("Node", node, patch))
        except ApiRefusedError as error:
            if error.status != HTTPStatus.CONFLICT or not tries_left:
                raise
        else:
            return


def _drop_taint(taints: Taints, key: str, effect: str | None) -> Taints:
    """Return the taints without those of a key, and of an effect if one is named."""
    return [one for one in taints if one["key"] != key or effect not in {None, one["effect"]}]


RETRIED_AFTER_S = 0.2
"""Between two tries: that a budget has room again shows in nothing that is watched."""


def drain(context: StepContext, step: Drain) -> None:
    """Close nodes for new pods, and evict their pods until none is left there.

    At the deadline each pod that is left is named with the budget that protects it.
    """
    cordon(context, Cordon(step.nodes))
    granted = set[str]()

    def list_pods(state: State) -> list[Pod]:
        return [one for one in state.all_pods(context.namespace) if one.node in step.nodes and not one.finished]

    def evict_all() -> str:
        """Evict what may go, and return in words what is left; empty for nothing."""
        said = [f"{pod.name} ({_drain_pod(context, pod, granted)})" for pod in context.run.observer.read(list_pods)]
        more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
        return f"{', '.join(said[:SHOWN])}{more}"

    what = f"{', '.join(step.nodes[:SHOWN])} to be drained"
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
