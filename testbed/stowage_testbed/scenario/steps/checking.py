"""Steps that expect something of a moment, or note it under a name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.change import JsonObject, drop_bookkeeping, name_of
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.source import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from stowage_testbed.observe.state import State
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.check import CheckResult, Moment, OptimizerRecord, check_moment
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.expression import Expression
from stowage_testbed.scenario.steps.action import Action, actions_of, check_stable
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.releasing import AskForPlan
from stowage_testbed.scenario.types import Label, Of, Seconds, Stable

if TYPE_CHECKING:
    from stowage_testbed.scenario.model import Scenario

QUIET_S = 0.3
"""No pod may change for so long before a state counts as stable: three times the
longest pause seen between a refused pod's condition and a change that followed."""


@dataclass(frozen=True, slots=True)
class Check(ExpectedMoment, Action):
    """Expect something in the middle; it must hold before the deadline."""

    kind = "check"
    deadline = "check"
    since: Annotated[str, Of("checkpoint")] = ""
    """The checkpoint before, which `utilisation_delta` counts from, and than which no priority may be worse off."""
    stable_s: Stable = 0.0
    """It must hold for so many seconds while no pod changes."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""

    def __post_init__(self) -> None:
        if self.utilisation_delta is not None and not self.since:
            raise ValueError("`utilisation_delta` counts from a checkpoint; name it as `since`")
        check_stable(self.stable_s, self.timeout_s)

    def carry_out(self, context: StepContext) -> None:
        """Wait until it holds; what does not is a failed check."""
        results = await_moment(context, self, context.timeout_s(), self.stable_s, self.since)
        context.checks += [replace(one, name=f"step {context.step.number}: {one.name}") for one in results]


END = "end"  # The checkpoint that every scenario ends with
FAILED = "failed"  # The checkpoint of a scenario that a step has ended early


@dataclass(frozen=True, slots=True)
class Checkpoint(Action):
    """Note pods, nodes and utilisation as they are now, under a name.

    Reports show the checkpoints side by side, and a later `check` may be `since` one.
    """

    kind = "checkpoint"
    bare = True
    name: Label
    # Of the last one only: what must hold until the deadline for it; pods must then come to rest.
    expect: ExpectedMoment | None = field(default=None, repr=False)

    def carry_out(self, context: StepContext) -> None:
        """Note the state, after what is expected of it has been checked."""
        if self.expect is not None:
            results = await_moment(context, self.expect, timeouts.end_s(context.scenario), QUIET_S)
        else:
            results = context.observer.read(lambda state: check_now(state, context, ExpectedMoment()))
        context.note_checkpoint(self.name)
        name = "" if self.name == END else f"{self.name}: "
        context.checks += [replace(one, name=f"{name}{one.name}") for one in results]


def await_moment(
    context: StepContext, expect: ExpectedMoment, timeout_s: float, stable_s: float, since: str = ""
) -> list[CheckResult]:
    """Return the results as soon as all hold, or as they are at the deadline."""
    context.watch_named(expect.objects)

    def look(state: State) -> list[CheckResult]:
        return check_now(state, context, expect, since)

    def condition(state: State) -> ConditionResult:
        results = check_now(state, context, expect, since, told=False)
        failed = [one.message for one in results if not one.passed]
        return ConditionResult(not failed, "; ".join(failed) or "all holds, but pods change")

    try:
        context.wait_for("what is expected to hold", condition, timeout_s=timeout_s, stable_s=stable_s)
    except WaitTimeoutError:
        results = context.observer.read(look)
        if all(one.passed for one in results):
            raise
        return results
    return context.observer.read(look)


def check_now(
    state: State, context: StepContext, expect: ExpectedMoment, since: str = "", *, told: bool = True
) -> list[CheckResult]:
    """Return what of the expectations holds now, compared with a checkpoint if named.

    Only what is ``told`` has the events: a look while waiting does without.
    """
    objects = _find_objects(state, context, expect.objects)
    events: defaultdict[str, list[str]] = defaultdict(list)
    for body in state.bodies("Event", context.namespace) if told else ():
        name = str(body["involvedObject"].get("name", ""))
        events[name].append(f"{body.get('reason', '')}: {body.get('message', '')}")
    moment = Moment(
        state=observe_state(state, context.scenario, context.namespace),
        plans=sum_up_plans(state.plans()),
        objects=objects,
        events=events,
        before=context.states.get(since),
        workload_of={pod.name: pod.workload for pod in state.all_pods(context.namespace)},
        values=read_values(state, context, expect.that, objects),
    )
    return list(check_moment(expect, moment, context.scenario.expect.tolerance))


def read_values(
    state: State,
    context: StepContext,
    expressions: Iterable[Expression],
    objects: Mapping[str, JsonObject] | None = None,
) -> dict[str, Any]:
    """Return what expressions read of a moment: pods, nodes, plans, objects, and slices, classes and claims of devices.

    Lists are in the order of names; the objects are the scenario's, if none are given.
    """
    lists: dict[str, Callable[[], list[JsonObject]]] = {
        "pods": lambda: state.bodies("Pod", context.namespace),
        "nodes": lambda: _list_nodes(state, context.scenario),
        "plans": lambda: state.bodies("PackingPlan"),
        "slices": lambda: state.bodies(RESOURCE_SLICES.kind),
        "classes": lambda: state.bodies(DEVICE_CLASSES.kind),
        "claims": lambda: state.bodies(RESOURCE_CLAIMS.kind, context.namespace),
    }
    names = frozenset[str]().union(*(one.names for one in expressions))
    # A list of every pod or slice of a large fleet is not read in vain.
    values: dict[str, Any] = {
        name: [drop_bookkeeping(dict(b)) for b in sorted(list_(), key=name_of)]
        for name, list_ in lists.items()
        if name in names
    }
    if "objects" in names:
        objects = _find_objects(state, context, ()) if objects is None else objects
        values["objects"] = {key: drop_bookkeeping(dict(b)) for key, b in objects.items()}
    return values


def observe_state(state: State, scenario: Scenario, namespace: str) -> ClusterState:
    """Return the scenario's nodes that are there, and the pods that claim room.

    Both by name, and with devices. What counts is what the API server has, not what the file asks for.
    """
    devices, rooms = state.devices, {name_of(one): read_node(one).room for one in _list_nodes(state, scenario)}
    listed = set(chain.from_iterable(rooms.values())) if devices else ()
    return ClusterState(
        nodes=tuple(NodeState(name, rooms[name] + devices.room(name)) for name in sorted(rooms)),
        pods=tuple(
            PodState(pod.workload, pod.node or None, devices.requests_of(pod, listed), pod.priority, pod.name)
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
    plans = [one.plan for one in actions_of(context.scenario.steps, AskForPlan)]
    names = dict.fromkeys((*plans, *context.scenario.objects, *asked))
    seen = {name: context.find_observed(state, name) for name in names}
    return {name: body for name, body in seen.items() if body is not None}
