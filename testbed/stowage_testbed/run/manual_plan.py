"""A plan that a person asks for, as `kubectl create` does."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest
from stowage_testbed.observe.condition import plan_finished
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.model import Scenario


def make_manual_plan(metadata: Manifest, *, time_limit_s: float, execution_mode: str = "Execute") -> Manifest:
    """Return a PackingPlan as a user creates it."""
    return {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "PackingPlan",
        "metadata": metadata,
        "spec": {"executionMode": execution_mode, "trigger": "Manual", "timeLimitSeconds": time_limit_s},
    }


def execute_manual_plan(context: RunContext, scenario: Scenario) -> ObservedPlan:
    """Create a PackingPlan, and return it when it is finished.

    Raises
    ------
    WaitTimeoutError
        It did not finish in time.
    """
    made = context.objects.create(
        make_manual_plan({"generateName": "manual-"}, time_limit_s=scenario.optimizer.time_limit_s)
    )
    name = made["metadata"]["name"]
    context.observer.wait_for(
        f"the manual plan {name} to finish", plan_finished(name), timeout_s=context.timeouts.plan_s(scenario)
    )
    plans = context.observer.read(lambda state: state.plans())
    return next(plan for plan in plans if plan.name == name)
