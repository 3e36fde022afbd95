"""Steps that wait until something has come about, or expect it to."""

from __future__ import annotations

from dataclasses import replace

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.checkpoints import note_checkpoint
from stowage_testbed.run.steps.conditions import in_phase, some_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.observed_moment import observe_moment
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
    context.wait_for(
        f"it to hold that {step.awaited()}", condition, timeout_s=context.timeout_s(), stable_s=step.stable_s
    )


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
    """Return the results as soon as all hold, or as they are at the deadline.

    Raises
    ------
    WaitTimeoutError
        All hold, but the pods did not come to rest.
    """
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
    """Return what of the expectations holds now, compared with a checkpoint if named.

    As `observe_moment`, only what is ``told`` has the events.
    """
    moment = observe_moment(state, context, expect, told=told)
    noted = (one for one in context.checkpoints if one.name == since)
    before = next((one.state for one in noted), None)
    tolerance = context.scenario.expect.tolerance
    return list(check_moment(expect, replace(moment, before=before), tolerance))
