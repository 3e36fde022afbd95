"""The step that puts pods where they are to be, past the scheduler."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.applying import apply
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.applying import Apply, Place

Left = Mapping[str, deque[str]]
"""The nodes that are still to get a pod, by workload."""


def place(context: StepContext, step: Place) -> None:
    """Create workloads, and bind their pods to these nodes as they come."""
    create = partial(apply, context, Apply(tuple(step.nodes)))
    context.facts["pods"] = place_pods(context, step.nodes, create, context.timeout_s())


def place_pods(
    context: StepContext, nodes: Mapping[str, Iterable[str]], create: Callable[[], None], timeout_s: float
) -> int:
    """Bind pods to nodes as they are created; return how many.

    The scheduler finds every node closed until all are bound.

    Parameters
    ----------
    nodes
        A node, or an empty text, for each pod in the order of the pods' names, by
        workload.
    create
        Creates what brings the pods.
    timeout_s
        How long the next pod may take to be there.
    """
    left = {name: deque(_trim(ones)) for name, ones in nodes.items()}
    seen, bound = set[str](), set[str]()
    closed = _close_nodes(context)
    try:
        create()
        while any(left.values()):
            context.wait_for(
                f"the pods of {', '.join(list(filter(left.get, left))[:SHOWN])}",
                _some_new(context.namespace, left, seen),
                timeout_s=timeout_s,
            )
            for pod in context.run.observer.read(lambda state: _list_new(state, context.namespace, left, seen)):
                # Others of a workload may have taken all its nodes in this round.
                node = left[pod.workload].popleft() if left[pod.workload] else ""
                seen.add(pod.name)
                if node:
                    _bind(context, pod, node)
                    bound.add(pod.name)
        context.wait_for("the pods to be bound", _all_bound(context.namespace, bound), timeout_s=timeout_s)
    finally:
        for node in closed:
            context.objects.patch("Node", node, {"spec": {"unschedulable": None}})
    return len(bound)


def _trim(nodes: Iterable[str]) -> list[str]:
    """Return the nodes without those at the end that are none."""
    kept = list(nodes)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def _close_nodes(context: StepContext) -> list[str]:
    """Cordon the fake nodes that are open, and return them.

    Watches may not have heard yet of one that the step before has closed.
    """
    names = [
        name_of(body)
        for body in context.objects.each("Node")
        if FAKE_NODE_ANNOTATION in (body["metadata"].get("annotations") or {})
        and not (body.get("spec") or {}).get("unschedulable")
    ]
    for name in names:
        context.objects.patch("Node", name, {"spec": {"unschedulable": True}})
    return names


def _bind(context: StepContext, pod: Pod, node: str) -> None:
    if pod.bound and pod.node != node:
        raise StowageError(
            f"pod {pod.name} is on {pod.node} already, before it could be bound to "
            f"{node}; let it tolerate no node that is closed for new pods"
        )
    if not pod.bound:
        context.objects.bind(pod.name, namespace=context.namespace, node=node)


def _list_new(state: State, namespace: str, left: Left, seen: Collection[str]) -> list[Pod]:
    """Return new pods of workloads with nodes left, those with numbers in order."""
    pods = [pod for pod in state.pods(namespace) if left.get(pod.workload) and pod.name not in seen]
    return sorted(pods, key=lambda pod: (len(pod.name), pod.name))


def _some_new(namespace: str, left: Left, seen: Collection[str]) -> Condition:
    """Hold when there is a new pod; some workloads have theirs come in turn."""

    def condition(state: State) -> ConditionResult:
        holds = bool(_list_new(state, namespace, left, seen))
        lacking = ", ".join(f"{name} lacks {len(left[name])}" for name in left)
        return ConditionResult(holds, f"{len(seen)} pods are there; {lacking}")

    return condition


def _all_bound(namespace: str, names: Collection[str]) -> Condition:
    def condition(state: State) -> ConditionResult:
        bound = {pod.name for pod in state.pods(namespace) if pod.bound}
        left = sorted(set(names) - bound)
        words = f"{len(left)} are not: {', '.join(left[:SHOWN]) or 'none'}"
        return ConditionResult(not left, words)

    return condition
