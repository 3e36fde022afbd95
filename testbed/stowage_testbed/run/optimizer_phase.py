"""Second half of a scenario: the scheduler with the optimiser packs what is there."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.settled import Condition, at_rest, packed
from stowage_testbed.observe.state import State
from stowage_testbed.run.capture import capture
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.invariant_checks import WATCHED, invariant_checks
from stowage_testbed.run.manual_plan import execute_manual_plan
from stowage_testbed.run.measure import measured
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.release import switch_release
from stowage_testbed.scenario.check import OptimizerRecord, check_optimizer
from stowage_testbed.scenario.model import OptimizerSettings, Scenario
from stowage_testbed.simulate import NO_PROTECTION

PROFILE = "optimizer"

QUIET_MARGIN_S = 0.5
"""Beyond the settle time, in which a trigger that comes again would show itself."""

_MODES = {"on-unschedulable": "OnUnschedulable", "manual": "Manual"}
_POLICIES = {"strict": "Strict", "paper": "Paper"}


def run_optimizer(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    recorder: RunRecorder,
    before: ClusterState,
) -> PhaseOutcome:
    """Put the optimiser beside the scheduler, wait for its last plan, and measure."""
    values = optimizer_values(scenario.optimizer)
    seen = len(recorder.changes())
    with recorder.step("release optimizer"):
        recorder.read_logs()
        recorder.released(
            switch_release(context, PROFILE, optimizer_enabled=True, values=values)
        )
        for source in WATCHED:
            context.observer.watch(source)
    with recorder.step("optimizer"):
        if scenario.optimizer.trigger == "manual":
            execute_manual_plan(context, scenario)
            # One plan was asked for, and one is made, whether it is the best or not.
            _await(
                context, scenario, at_rest(environment.namespace, scenario.pod_count)
            )
        else:
            _await(context, scenario, packed(environment.namespace, scenario.pod_count))
    after, plans = context.observer.read(
        lambda state: _read(state, scenario, environment)
    )
    return measured(
        context,
        after,
        recorder.changes()[seen:],
        environment.namespace,
        recorder.audit_start,
        duration_s=recorder.durations_s["optimizer"],
        checks=(
            *check_optimizer(scenario, before, after, optimizer_record(plans)),
            *invariant_checks(context, recorder),
        ),
    )


def optimizer_values(settings: OptimizerSettings) -> dict[str, Any]:
    """Return the Helm values that carry a scenario's optimiser settings."""
    return {
        "priorityOptimizer": {
            "mode": _MODES[settings.trigger],
            "settleSeconds": settings.settle_s,
            "timeLimitSeconds": settings.time_limit_s,
            "policy": _POLICIES[settings.policy],
            "strategy": settings.strategy,
            **(NO_PROTECTION if settings.harm == "any" else {}),
        }
    }


def optimizer_record(plans: list[ObservedPlan]) -> OptimizerRecord:
    """Sum the plans up; without any, nothing was moved and nothing is proved."""
    return OptimizerRecord(
        solves=len(plans),
        moves=sum(plan.moves for plan in plans if plan.executes),
        evictions=sum(plan.evictions for plan in plans if plan.executes),
        optimal=bool(plans) and plans[-1].optimal,
        phases=Counter(plan.phase or "Pending" for plan in plans),
    )


def _await(context: RunContext, scenario: Scenario, condition: Condition) -> None:
    context.observer.wait_for(
        f"the optimiser to be done with {scenario.scenario_id}",
        condition,
        timeout_s=context.timeouts.plan_s(scenario),
        quiet_s=scenario.optimizer.settle_s + QUIET_MARGIN_S,
        quiet_kinds=("Pod", "PackingPlan"),
    )


def _read(
    state: State, scenario: Scenario, environment: ScenarioEnvironment
) -> tuple[ClusterState, list[ObservedPlan]]:
    return capture(
        state, scenario, environment.namespace, environment.nodes
    ), state.plans()
