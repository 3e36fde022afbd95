"""One moment of a scenario, read from what the watches have seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.change import JsonObject, drop_bookkeeping, name_of
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod import allocatable_of
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.check import Moment, OptimizerRecord
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.kinds import list_asked_plans


def observe_moment(state: State, context: StepContext, expect: ExpectedMoment, *, told: bool) -> Moment:
    """Return nodes, pods, plans and objects as they are now, as far as it is asked.

    Only what is ``told`` has the events: a look while waiting does without.
    """
    objects = _find_objects(state, context, expect.objects)
    return Moment(
        state=observe_state(state, context.scenario, context.namespace),
        plans=sum_up_plans(state.plans()),
        objects=objects,
        events=_list_events(state, context.namespace) if told else {},
        workload_of={pod.name: pod.workload for pod in state.all_pods(context.namespace)},
        values=read_values(state, context, objects) if expect.that else {},
    )


def _list_events(state: State, namespace: str) -> dict[str, list[str]]:
    """Return what events say of each object, in the order in which they came."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for body in state.bodies("Event", namespace):
        name = str(body["involvedObject"].get("name", ""))
        said[name].append(f"{body.get('reason', '')}: {body.get('message', '')}")
    return said


def read_values(state: State, context: StepContext, objects: Mapping[str, JsonObject] | None = None) -> dict[str, Any]:
    """Return what expressions read of a moment: pods, nodes, plans and objects.

    Lists are in the order of names; the objects are the scenario's, if none are given.
    """
    objects = _find_objects(state, context, ()) if objects is None else objects
    lists = {
        "pods": state.bodies("Pod", context.namespace),
        "nodes": _list_nodes(state, context.scenario),
        "plans": state.bodies("PackingPlan"),
    }
    return {
        **{name: [drop_bookkeeping(dict(b)) for b in sorted(bodies, key=name_of)] for name, bodies in lists.items()},
        "objects": {key: drop_bookkeeping(dict(b)) for key, b in objects.items()},
    }


def observe_state(state: State, scenario: Scenario, namespace: str) -> ClusterState:
    """Return the scenario's nodes that are there, and the pods that claim room.

    Both by name. What counts is what the API server has, not what the file asks for.
    """
    return ClusterState(
        nodes=tuple(
            NodeState(name_of(body), allocatable_of(body)) for body in sorted(_list_nodes(state, scenario), key=name_of)
        ),
        pods=tuple(
            PodState(pod.workload, pod.node or None, pod.requests, pod.priority, pod.name)
            for pod in state.pods(namespace)
        ),
    )


def _list_nodes(state: State, scenario: Scenario) -> list[JsonObject]:
    """Return the scenario's nodes that are there."""
    ours = set(scenario.node_names)
    return [body for body in state.bodies("Node") if name_of(body) in ours]


def sum_up_plans(plans: Sequence[ObservedPlan]) -> OptimizerRecord:
    """Sum the plans up; without any, nothing was moved and nothing is proved."""
    return OptimizerRecord(
        solves=len(plans),
        moves=sum(plan.moves for plan in plans if plan.executes),
        evictions=sum(plan.evictions for plan in plans if plan.executes),
        optimal=bool(plans) and plans[-1].optimal,
        phases=Counter(plan.phase or "Pending" for plan in plans),
    )


def _find_objects(state: State, context: StepContext, asked: Iterable[str]) -> dict[str, JsonObject]:
    plans = list_asked_plans(context.scenario.steps)
    names = dict.fromkeys((*plans, *context.scenario.objects, *asked))
    seen = {name: context.find_observed(state, name) for name in names}
    return {name: body for name, body in seen.items() if body is not None}
