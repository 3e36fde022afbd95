"""Steps that wait until something has come about, or expect it to."""

from __future__ import annotations

from dataclasses import replace

from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import NotSettledError, Verdict
from stowage_testbed.run.steps.conditions import in_phase, some_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.observed_moment import observed_moment
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.check_moment import check_moment
from stowage_testbed.scenario.expectations import ExpectedMoment
from stowage_testbed.scenario.steps.model import Check, Step, Wait
from stowage_testbed.scenario.steps.words import awaited


def wait(context: StepContext, step: Wait) -> None:
    """Wait until pods, or one object, have come so far."""
    timeout_s = step.timeout_s or context.timeouts.step_s(context.scenario, "wait")
    if step.condition == "phase":
        (name,) = step.of
        item = context.object(name)
        kind = item.kind if item else "PackingPlan"
        condition = in_phase(kind, name, step.phase, context.namespace)
    else:
        asked = context.demand.of(step.of) if step.of else context.demand.total
        count = asked if step.count is None else step.count
        condition = some_pods(context.namespace, step.of, count, step.condition)
    context.wait_for(
        f"it to hold that {awaited(step)}",
        condition,
        timeout_s=timeout_s,
        stable_s=step.stable_s,
    )


def check(context: StepContext, step: Check, where: Step) -> None:
    """Wait until what is expected holds; what does not is a failed check."""
    timeout_s = step.timeout_s or context.timeouts.step_s(context.scenario, "check")
    results = await_moment(
        context, step.expect, timeout_s=timeout_s, stable_s=step.stable_s
    )
    name = f"step {where.number}"
    context.checks += [replace(one, name=f"{name}: {one.name}") for one in results]


def await_moment(
    context: StepContext, expect: ExpectedMoment, *, timeout_s: float, stable_s: float
) -> list[CheckResult]:
    """Return the results as soon as all hold, or as they are at the deadline.

    Raises
    ------
    NotSettledError
        All hold, but the pods did not come to rest.
    """
    tolerance = context.scenario.expect.tolerance

    def look(state: State) -> list[CheckResult]:
        return list(check_moment(expect, observed_moment(state, context), tolerance))

    def condition(state: State) -> Verdict:
        failed = [one.message for one in look(state) if not one.passed]
        return Verdict(not failed, "; ".join(failed) or "all holds, but pods change")

    try:
        context.wait_for(
            "what is expected to hold",
            condition,
            timeout_s=timeout_s,
            stable_s=stable_s,
        )
    except NotSettledError:
        results = context.run.observer.read(look)
        if all(one.passed for one in results):
            raise
        return results
    return context.run.observer.read(look)
