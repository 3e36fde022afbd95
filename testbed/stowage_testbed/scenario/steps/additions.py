"""What steps add that the rest of a file does not name: nodes, pods, objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.arrivals.trace import TracedPod
from stowage_testbed.scenario.steps.model import AddNodes, Replay, Step, TriggerPlan


def added_nodes(steps: Iterable[Step]) -> tuple[NodePool, ...]:
    """Return the kinds of nodes that steps add."""
    actions = (step.action for step in steps)
    return tuple(one.pool for one in actions if isinstance(one, AddNodes))


def replayed_pods(steps: Iterable[Step]) -> Iterator[TracedPod]:
    """Yield the pods that traces bring, step by step."""
    for step in steps:
        if isinstance(step.action, Replay):
            yield from step.action.pods


def replayed_priorities(steps: Iterable[Step]) -> set[int]:
    """Return the priorities of the pods that traces bring."""
    return {pod.template.priority for pod in replayed_pods(steps)}


def replayed_owners(steps: Iterable[Step]) -> list[str]:
    """Return the owners of the pods that traces bring, each once."""
    return list(dict.fromkeys(pod.owner for pod in replayed_pods(steps)))


def replayed_files(steps: Iterable[Step]) -> list[str]:
    """Return the traces' files, as the steps name them, each once."""
    actions = (step.action for step in steps)
    return list(dict.fromkeys(one.file for one in actions if isinstance(one, Replay)))


def triggered_plans(steps: Iterable[Step]) -> list[str]:
    """Return the names of the plans that steps ask for."""
    actions = (step.action for step in steps)
    return [one.plan for one in actions if isinstance(one, TriggerPlan)]
