"""First half of a scenario: the deterministic scheduler places the workload alone."""

from __future__ import annotations

from stowage_testbed.run.bench import Bench
from stowage_testbed.run.capture import capture
from stowage_testbed.run.diary import Diary
from stowage_testbed.run.measure import measured
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.release import switch_release
from stowage_testbed.run.site import Site
from stowage_testbed.run.workload import submit
from stowage_testbed.scenario.check import check_deterministic
from stowage_testbed.scenario.model import Scenario

PROFILE = "deterministic"


def run_deterministic(
    bench: Bench, scenario: Scenario, site: Site, diary: Diary
) -> PhaseOutcome:
    """Submit the workload to the scheduler alone and return the settled state."""
    with diary.step("release deterministic"):
        diary.released(switch_release(bench, PROFILE, optimizer_enabled=False))
    with diary.step("deterministic"):
        submit(bench, scenario, site)
    state = bench.observer.read(
        lambda seen: capture(seen, scenario, site.namespace, site.nodes)
    )
    return measured(
        bench,
        state,
        diary.changes(),
        site.namespace,
        diary.audit_start,
        duration_s=diary.durations_s["deterministic"],
        checks=check_deterministic(scenario, state),
    )
