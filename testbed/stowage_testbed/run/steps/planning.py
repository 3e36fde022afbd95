"""The step that asks for a plan."""

from __future__ import annotations

from stowage_testbed.run.manual_plan import manual_plan
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.model import TriggerPlan


def trigger(context: StepContext, step: TriggerPlan) -> None:
    """Create a PackingPlan; what becomes of it is for other steps to wait for."""
    time_limit_s = step.time_limit_s or context.scenario.optimizer.time_limit_s
    context.objects.create(
        manual_plan({"name": step.plan}, mode=step.mode, time_limit_s=time_limit_s)
    )
