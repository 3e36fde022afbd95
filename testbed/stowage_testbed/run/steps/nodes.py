"""Steps that change the nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.observe.condition import Condition, ConditionResult
from stowage_testbed.observe.settled import SHOWN
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.nodes import (
    AddNodes,
    Cordon,
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
    for name in step.nodes:
        context.objects.patch("Node", name, {"spec": {"unschedulable": True}})


def uncordon(context: StepContext, step: Uncordon) -> None:
    """Open nodes again."""
    for name in step.nodes:
        context.objects.patch("Node", name, {"spec": {"unschedulable": None}})


def taint(context: StepContext, step: TaintNodes) -> None:
    """Give nodes a taint, in the place of one of the same key and effect."""
    new = {"key": step.key, "value": step.value, "effect": step.effect}
    for name in step.nodes:
        _change_taints(
            context, name, lambda old: [*_drop_taint(old, step.key, step.effect), new]
        )


def untaint(context: StepContext, step: UntaintNodes) -> None:
    """Take the taints of a key, and of an effect if one is named, from nodes."""
    for name in step.nodes:
        _change_taints(
            context, name, lambda old: _drop_taint(old, step.key, step.effect)
        )


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


def _change_taints(
    context: StepContext, node: str, change: Callable[[Taints], Taints]
) -> None:
    """Change a node's taints, unless somebody else does so in the same moment.

    A merge replaces the whole list, and controllers write taints of their own.
    """
    for tries_left in reversed(range(TRIES)):
        body = context.objects.read("Node", node)
        taints = change(list(body.get("spec", {}).get("taints") or []))
        version = {"resourceVersion": body["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": taints or None}}
        try:
            context.objects.patch("Node", node, patch)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.CONFLICT or not tries_left:
                raise
        else:
            return


def _drop_taint(taints: Taints, key: str, effect: str | None) -> Taints:
    """Return the taints without those of a key, and of an effect if one is named."""
    return [
        one
        for one in taints
        if one["key"] != key or effect not in {None, one["effect"]}
    ]
