"""Steps that wait until something has come about, or expect it to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult
from stowage_testbed.observe.plan import FINISHED_PHASES as PLAN_OVER
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.moments import note_checkpoint, observe_moment
from stowage_testbed.scenario.check import CheckResult, check_moment
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.model import QUIET_S
from stowage_testbed.scenario.steps.waiting import END, Check, Checkpoint, Wait


def wait(context: StepContext, step: Wait) -> None:
    """Wait until pods, or one object, have come so far."""
    if step.for_ == "phase":
        (name,) = step.of
        item = context.object(name)
        kind = item.kind if item else "PackingPlan"
        condition = in_phase(kind, name, step.is_, lambda state: context.find_observed(state, name))
    else:
        asked = sum(context.demand[name] for name in step.of or context.demand)
        count = asked if step.count is None else step.count
        condition = some_pods(context.namespace, step.of, count, step.for_)
    context.wait_for(f"it to hold that {step.awaited()}", condition, stable_s=step.stable_s)


def check(context: StepContext, step: Check) -> None:
    """Wait until what is expected holds; what does not is a failed check."""
    results = await_moment(context, step, timeout_s=context.timeout_s(), stable_s=step.stable_s, since=step.since)
    name = f"step {context.step.number}"
    context.checks += [replace(one, name=f"{name}: {one.name}") for one in results]


def checkpoint(context: StepContext, step: Checkpoint) -> None:
    """Note the state, after what is expected of it has been checked."""
    if step.expect is not None:
        timeout_s = context.timeouts.step_s(context.scenario, step.name)
        results = await_moment(context, step.expect, timeout_s=timeout_s, stable_s=QUIET_S)
    else:
        results = context.run.observer.read(lambda state: check_state_now(state, context, ExpectedMoment(), ""))
    note_checkpoint(context, step.name)
    name = "" if step.name == END else f"{step.name}: "
    context.checks += [replace(one, name=f"{name}{one.name}") for one in results]


def await_moment(
    context: StepContext, expect: ExpectedMoment, *, timeout_s: float, stable_s: float, since: str = ""
) -> list[CheckResult]:
    """Return the results as soon as all hold, or as they are at the deadline."""
    context.watch_named(expect.objects)

    def look(state: State, *, told: bool = True) -> list[CheckResult]:
        return check_state_now(state, context, expect, since, told=told)

    def condition(state: State) -> ConditionResult:
        failed = [one.message for one in look(state, told=False) if not one.passed]
        return ConditionResult(not failed, "; ".join(failed) or "all holds, but pods change")

    try:
        context.wait_for("what is expected to hold", condition, timeout_s=timeout_s, stable_s=stable_s)
    except WaitTimeoutError:
        results = context.run.observer.read(look)
        if all(one.passed for one in results):
            raise
        return results
    return context.run.observer.read(look)


def check_state_now(
    state: State, context: StepContext, expect: ExpectedMoment, since: str, *, told: bool = True
) -> list[CheckResult]:
    """Return what of the expectations holds now, compared with a checkpoint if named; events only if it is ``told``."""
    moment = observe_moment(state, context, expect, told=told)
    before = next((one.state for one in context.checkpoints if one.name == since), None)
    return list(check_moment(expect, replace(moment, before=before), context.scenario.expect.tolerance))


PLAN_ORDER = ("", "Pending", "Solving", "Proposed", "Executing", "Completed")
"""A plan passes through its phases so fast that a watcher may miss one."""

FINAL_PHASES = frozenset({"Failed", "Succeeded", *PLAN_OVER})


def some_pods(namespace: str, of: Collection[str], count: int, state: str) -> Condition:
    """Hold when ``count`` pods are in a state; `decided` and `gone` are of all."""

    def condition(seen: State) -> ConditionResult:
        pods = [pod for pod in seen.all_pods(namespace) if not of or pod.workload in of]
        if state == "gone":
            left = [pod.name for pod in pods if not pod.finished]
            return ConditionResult(not left, f"{len(left)} pods are left: {', '.join(left[:SHOWN])}")
        if state == "settled":
            leaving = sum(pod.terminating for pod in pods)
            number = sum(pod.bound or pod.unschedulable for pod in pods if not pod.terminating)
            holds = number >= count and not leaving and number == len(pods)
            return ConditionResult(
                holds, f"{number} of {count} pods are decided, {leaving} are leaving; {_explain(pods)}"
            )
        number = sum(_IS_IN[state](pod) for pod in pods)
        return ConditionResult(number >= count, f"{number} of {count} pods are {state}; {_explain(pods)}")

    return condition


def in_phase(kind: str, name: str, phase: str, seen: Callable[[State], JsonObject | None]) -> Condition:
    """Hold when an object is in a phase; a plan also when it has gone on from it."""

    def condition(state: State) -> ConditionResult:
        body = seen(state)
        if body is None:
            return ConditionResult(False, f"{kind} {name} is not there")
        status = body.get("status") or {}
        now = str(status.get("phase", ""))
        words = f"{kind} {name} is {now or 'in no phase yet'}{_list_reasons(status)}"
        is_plan = kind == "PackingPlan" and {now, phase} <= set(PLAN_ORDER)
        if now == phase or (is_plan and PLAN_ORDER.index(now) > PLAN_ORDER.index(phase)):
            return ConditionResult(True, words)
        return ConditionResult(False, words, error=words if now in FINAL_PHASES else "")

    return condition


_IS_IN: dict[str, Callable[[Pod], bool]] = {
    # It has its node, or had it until it was done.
    "bound": lambda pod: pod.bound and not pod.terminating,
    "ready": lambda pod: (pod.ready and not pod.terminating) or pod.finished,
    "unschedulable": lambda pod: pod.unschedulable and not pod.terminating,
    "terminating": lambda pod: pod.terminating,
}


def _explain(pods: list[Pod]) -> str:
    pending = [pod for pod in pods if not pod.bound]
    text = f"{len(pods)} exist, {len(pending)} without a node"
    named = "; ".join(pod.why_pending() for pod in pending[:SHOWN])
    more = f"; and {len(pending) - SHOWN} more" if len(pending) > SHOWN else ""
    return f"{text} ({named}{more})" if pending else text


def _list_reasons(status: object) -> str:
    """Return what the conditions that do not hold say."""
    conditions = status.get("conditions") if isinstance(status, dict) else None
    said = [
        f"{one.get('reason', '')}: {one.get('message', '')}".strip(": ")
        for one in conditions or ()
        if one.get("status") != "True"
    ]
    return f" ({'; '.join(filter(None, said))})" if any(said) else ""
