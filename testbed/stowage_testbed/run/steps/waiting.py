"""Steps that wait until something has come about, or expect it to."""

from __future__ import annotations

from dataclasses import replace

from stowage_testbed.observe.settled import at_rest, packed
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.run.manual_plan import execute_manual_plan
from stowage_testbed.run.steps.conditions import in_phase, some_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.observed_moment import observed_moment
from stowage_testbed.scenario.check import CheckResult, check_moment
from stowage_testbed.scenario.expected_moment import ExpectedMoment
from stowage_testbed.scenario.steps.waiting import Check, Pack, Wait
from stowage_testbed.wait import WaitTimeoutError

QUIET_MARGIN_S = 0.5
"""Beyond the settle time, in which a trigger that comes again would show itself."""


def wait(context: StepContext, step: Wait) -> None:
    """Wait until pods, or one object, have come so far."""
    if step.condition == "phase":
        (name,) = step.of
        item = context.object(name)
        kind = item.kind if item else "PackingPlan"
        condition = in_phase(
            kind, name, step.phase, lambda state: context.observed(state, name)
        )
    else:
        asked = context.demand.of(step.of) if step.of else context.demand.total
        count = asked if step.count is None else step.count
        condition = some_pods(context.namespace, step.of, count, step.condition)
    context.wait_for(
        f"it to hold that {step.awaited()}",
        condition,
        timeout_s=context.timeout_s(),
        stable_s=step.stable_s,
    )


def check(context: StepContext, step: Check) -> None:
    """Wait until what is expected holds; what does not is a failed check."""
    results = await_moment(
        context, step.expect, timeout_s=context.timeout_s(), stable_s=step.stable_s
    )
    name = f"step {context.step.number}"
    context.checks += [replace(one, name=f"{name}: {one.name}") for one in results]


def pack(context: StepContext, step: Pack) -> None:
    """Wait until the optimiser is done, after asking for a plan if it must be asked.

    One plan is asked for, and one is made, whether it is the best or not.
    """
    del step
    run, scenario = context.run, context.scenario
    is_done = packed
    if scenario.optimizer.trigger == "manual":
        execute_manual_plan(run, scenario)
        is_done = at_rest
    run.observer.wait_for(
        f"the optimiser to be done with {scenario.scenario_id}",
        is_done(context.namespace, scenario.pod_count),
        timeout_s=run.timeouts.plan_s(scenario),
        quiet_s=scenario.optimizer.settle_s + QUIET_MARGIN_S,
        quiet_kinds=("Pod", "PackingPlan"),
    )


def await_moment(
    context: StepContext, expect: ExpectedMoment, *, timeout_s: float, stable_s: float
) -> list[CheckResult]:
    """Return the results as soon as all hold, or as they are at the deadline.

    Raises
    ------
    WaitTimeoutError
        All hold, but the pods did not come to rest.
    """
    tolerance = context.scenario.expect.tolerance
    context.watch_named(expect.objects)

    def look(state: State, *, told: bool = True) -> list[CheckResult]:
        moment = observed_moment(state, context, expect, told=told)
        return list(check_moment(expect, moment, tolerance))

    def condition(state: State) -> Verdict:
        failed = [one.message for one in look(state, told=False) if not one.passed]
        return Verdict(not failed, "; ".join(failed) or "all holds, but pods change")

    try:
        context.wait_for(
            "what is expected to hold",
            condition,
            timeout_s=timeout_s,
            stable_s=stable_s,
        )
    except WaitTimeoutError:
        results = context.run.observer.read(look)
        if all(one.passed for one in results):
            raise
        return results
    return context.run.observer.read(look)
