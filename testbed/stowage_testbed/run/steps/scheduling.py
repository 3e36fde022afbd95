"""Steps that choose what places the pods, and that have the optimiser pack them."""

from __future__ import annotations

from stowage_testbed.observe.condition import at_rest, packed
from stowage_testbed.run.manual_plan import execute_manual_plan
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.applying import Pack, Release

QUIET_MARGIN_S = 0.5
"""Beyond the settle time, in which a trigger that comes again would show itself."""


def release(context: StepContext, step: Release) -> None:
    """Have the release serve, unless another scheduler does."""
    if context.harness.is_released:
        context.harness.release(context.run, context.scenario, step, context.recorder)
    context.is_planned |= step.optimizer
    context.try_objects()


def pack(context: StepContext, step: Pack) -> None:
    """Wait until the optimiser is done, after asking for a plan if it must be asked.

    One plan is asked for, and one is made, whether it is the best or not.
    """
    del step
    run, scenario = context.run, context.scenario
    is_done = packed if context.harness.is_released else at_rest
    if scenario.optimizer.trigger == "manual" and context.harness.is_released:
        execute_manual_plan(run, scenario)
        is_done = at_rest
    run.observer.wait_for(
        f"the optimiser to be done with {scenario.scenario_id}",
        is_done(context.namespace, context.demand.total()),
        timeout_s=run.timeouts.plan_s(scenario),
        quiet_s=scenario.optimizer.settle_s + QUIET_MARGIN_S,
        quiet_kinds=("Pod", "PackingPlan"),
    )
