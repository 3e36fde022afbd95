"""One moment of a scenario, read from what the watches have seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.audit import AuditLogMissingError, read_audit_entries, read_binding_times_ns
from stowage_testbed.observe.change import JsonObject, drop_bookkeeping, name_of
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.state import State
from stowage_testbed.observe.timeline import measure_bind_latencies_s, measure_binding_lags_s, read_pod_timelines
from stowage_testbed.run.outcome import make_checkpoint, make_latency
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
    events: defaultdict[str, list[str]] = defaultdict(list)
    for body in state.bodies("Event", context.namespace) if told else ():
        name = str(body["involvedObject"].get("name", ""))
        events[name].append(f"{body.get('reason', '')}: {body.get('message', '')}")
    return Moment(
        state=observe_state(state, context.scenario, context.namespace),
        plans=sum_up_plans(state.plans()),
        objects=objects,
        events=events,
        workload_of={pod.name: pod.workload for pod in state.all_pods(context.namespace)},
        values=read_values(state, context, objects) if expect.that else {},
    )


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
    nodes = sorted(_list_nodes(state, scenario), key=name_of)
    return ClusterState(
        nodes=tuple(NodeState(name_of(body), read_node(body).room) for body in nodes),
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


def note_checkpoint(context: StepContext, name: str) -> None:
    """Note pods and nodes now, and figures of what led to them; latencies are checked against the audit log."""
    recorder, namespace = context.recorder, context.namespace
    state = context.run.observer.read(lambda seen: observe_state(seen, context.scenario, namespace))
    changes = recorder.changes()
    since, context.noted_changes = context.noted_changes, len(changes)
    changes, window = changes[since:], context.window
    duration_s = recorder.durations_s.get(name, 0.0)
    # One that closed before the last checkpoint says nothing of this one.
    if window and window != context.noted_window:
        context.noted_window = window
        changes = [one for one in changes if window.holds(one.receipt)]
        duration_s = window.length_s
    timelines = read_pod_timelines(changes, namespace)
    try:
        entries = read_audit_entries(context.run.cluster.audit_log, recorder.audit_start)
        lags_s = measure_binding_lags_s(timelines, read_binding_times_ns(entries))
    except AuditLogMissingError:
        lags_s = []
    latency = make_latency(measure_bind_latencies_s(timelines), lags_s)
    context.checkpoints.append(make_checkpoint(name, state, latency, duration_s, is_planned=context.is_planned))
