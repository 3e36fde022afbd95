"""Steps that change the nodes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from testbed.cluster.nodes import create_nodes
from testbed.observe.settled import SHOWN, Condition
from testbed.observe.state import State
from testbed.observe.verdict import Verdict
from testbed.run.orphans import collect_pods
from testbed.run.steps.course import Course
from testbed.run.steps.errors import NotThereError
from testbed.scenario.steps.model import (
    AddNodes,
    Cordon,
    RemoveNodes,
    TaintNodes,
    Uncordon,
    UntaintNodes,
)

Taints = list[dict[str, Any]]


def cordon(course: Course, step: Cordon) -> None:
    """Close nodes for new pods."""
    for name in step.nodes:
        course.objects.patch("Node", name, {"spec": {"unschedulable": True}})


def uncordon(course: Course, step: Uncordon) -> None:
    """Open nodes again."""
    for name in step.nodes:
        course.objects.patch("Node", name, {"spec": {"unschedulable": None}})


def taint(course: Course, step: TaintNodes) -> None:
    """Give nodes a taint, in the place of one of the same key and effect."""
    given = step.taint
    new = {"key": given.key, "value": given.value, "effect": given.effect}
    for name in step.nodes:
        others = _without(_taints(course, name), given.key, given.effect)
        course.objects.patch("Node", name, {"spec": {"taints": [*others, new]}})


def untaint(course: Course, step: UntaintNodes) -> None:
    """Take the taints of a key, and of an effect if one is named, from nodes."""
    for name in step.nodes:
        left = _without(_taints(course, name), step.key, step.effect)
        course.objects.patch("Node", name, {"spec": {"taints": left or None}})


def add(course: Course, step: AddNodes) -> None:
    """Create nodes in their order; all are ready on return."""
    timeout_s = course.timeouts.step_s(course.scenario, "add-nodes", step.pool.count)
    create_nodes(course.bench.api, [step.pool], timeout_s=timeout_s)


def remove(course: Course, step: RemoveNodes) -> None:
    """Delete nodes and their pods; all are gone on return."""
    for name in step.nodes:
        course.objects.delete("Node", name)
        collect_pods(course.bench, course.namespace, name)
    count = len(step.nodes)
    course.wait_for(
        f"{', '.join(step.nodes[:SHOWN])} and their pods to be gone",
        _gone(course.namespace, step.nodes),
        timeout_s=course.timeouts.step_s(course.scenario, "remove-nodes", count),
    )


def _gone(namespace: str, names: Collection[str]) -> Condition:
    unwanted = frozenset(names)

    def condition(state: State) -> Verdict:
        nodes = {str(body["metadata"]["name"]) for body in state.bodies("Node")}
        pods = [p.name for p in state.all_pods(namespace) if p.node in unwanted]
        left = [*sorted(nodes & unwanted), *pods]
        words = ", ".join(left[:SHOWN]) or "nothing"
        return Verdict(not left, f"{len(left)} left: {words}")

    return condition


def _taints(course: Course, node: str) -> Taints:
    bodies = course.bench.observer.read(lambda state: state.bodies("Node"))
    for body in bodies:
        if body["metadata"]["name"] == node:
            return list(body.get("spec", {}).get("taints") or [])
    raise NotThereError("Node", node)


def _without(taints: Taints, key: str, effect: str) -> Taints:
    """Return the taints without those of a key, and of an effect if one is named."""
    return [
        one for one in taints if one["key"] != key or effect not in {"", one["effect"]}
    ]
