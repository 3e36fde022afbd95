"""First half of a scenario: the deterministic scheduler places the workload alone."""

from __future__ import annotations

from testbed.run.bench import Bench
from testbed.run.capture import capture
from testbed.run.diary import Diary
from testbed.run.measure import measured
from testbed.run.outcome import PhaseOutcome
from testbed.run.release import switch_release
from testbed.run.site import Site
from testbed.run.workload import submit
from testbed.scenario.check import check_deterministic
from testbed.scenario.model import Scenario

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
