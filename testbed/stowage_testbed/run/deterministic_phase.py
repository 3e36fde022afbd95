"""First half of a scenario: the deterministic scheduler places the workload alone."""

from __future__ import annotations

from stowage_testbed.run.capture import capture
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.measure import measured
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.release import switch_release
from stowage_testbed.run.workload import submit
from stowage_testbed.scenario.check import check_deterministic
from stowage_testbed.scenario.model import Scenario

PROFILE = "deterministic"


def run_deterministic(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    recorder: RunRecorder,
) -> PhaseOutcome:
    """Submit the workload to the scheduler alone and return the settled state."""
    with recorder.step("release deterministic"):
        recorder.released(switch_release(context, PROFILE, optimizer_enabled=False))
    with recorder.step("deterministic"):
        submit(context, scenario, environment)
    state = context.observer.read(
        lambda seen: capture(seen, scenario, environment.namespace, environment.nodes)
    )
    return measured(
        context,
        state,
        recorder.changes(),
        environment.namespace,
        recorder.audit_start,
        duration_s=recorder.durations_s["deterministic"],
        checks=check_deterministic(scenario, state),
    )
