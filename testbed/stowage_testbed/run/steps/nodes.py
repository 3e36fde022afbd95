"""Steps that change the nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.observe.change import JsonObject, name_of
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.nodes import AddNodes, Cordon, RemoveNodes, TaintNodes, Uncordon, UntaintNodes

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
    context.wait_for(
        f"{', '.join(step.nodes[:SHOWN])} and their pods to be gone",
        _gone(context.namespace, step.nodes),
        timeout_s=context.timeout_s(),
    )


def _gone(namespace: str, names: Collection[str]) -> Condition:
    unwanted = frozenset(names)

    def condition(state: State) -> ConditionResult:
        nodes = {str(body["metadata"]["name"]) for body in state.bodies("Node")}
        pods = [p.name for p in state.all_pods(namespace) if p.node in unwanted]
        left = [*sorted(nodes & unwanted), *pods]
        words = ", ".join(left[:SHOWN]) or "nothing"
        return ConditionResult(not left, f"{len(left)} left: {words}")

    return condition


def _patch_spec(context: StepContext, names: Iterable[str], spec: Mapping[str, Any]) -> None:
    for name in names:
        changed = context.objects.patch("Node", name, {"spec": spec})
        _await_watch(context, changed)


def _await_watch(context: StepContext, changed: JsonObject) -> None:
    """Return when the watch has a node as it was changed.

    The scheduler learns of nodes and of pods by two watches, and would place a pod that
    the next step brings by what the node was, if that of the nodes were late.
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
            changed = context.objects.patch("Node", node, patch)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.CONFLICT or not tries_left:
                raise
        else:
            _await_watch(context, changed)
            return


def _drop_taint(taints: Taints, key: str, effect: str | None) -> Taints:
    """Return the taints without those of a key, and of an effect if one is named."""
    return [one for one in taints if one["key"] != key or effect not in {None, one["effect"]}]
