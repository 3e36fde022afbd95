"""A scenario with steps under the release of the chart that it names."""

from __future__ import annotations

from collections.abc import Callable

from testbed.helm.values import merge_values
from testbed.run.bench import Bench
from testbed.run.diary import Diary
from testbed.run.invariant_checks import WATCHED, invariant_checks
from testbed.run.measure import measured
from testbed.run.optimizer_phase import optimizer_values
from testbed.run.outcome import PhaseOutcome
from testbed.run.release import switch_release
from testbed.run.site import Site
from testbed.run.steps.carrying_out import run_steps
from testbed.run.steps.outcome import SteppedOutcome
from testbed.scenario.check_metrics import Values, check_metrics
from testbed.scenario.model import Scenario

MetricSource = Callable[[Bench, Scenario, Site, SteppedOutcome, Diary], Values]
"""Gives the metrics of a measured window by name."""


def run_stepped(
    bench: Bench, scenario: Scenario, site: Site, diary: Diary, metrics: MetricSource
) -> tuple[SteppedOutcome, PhaseOutcome]:
    """Install the release, carry the steps out, and measure.

    Bounds on metrics and the invariants are checked besides what the steps expect.
    """
    _release(bench, scenario, diary)
    stepped = run_steps(bench, scenario, site, None, diary)
    bounds = scenario.expect.metrics
    values = metrics(bench, scenario, site, stepped, diary) if bounds else {}
    window = stepped.window
    return stepped, measured(
        bench,
        stepped.state,
        [one for one in diary.changes() if window is None or window.holds(one.receipt)],
        site.namespace,
        diary.audit_start,
        duration_s=window.length_s if window else diary.durations_s.get("steps", 0.0),
        checks=(
            *stepped.checks,
            *check_metrics(bounds, values),
            *invariant_checks(bench, diary),
        ),
    )


def _release(bench: Bench, scenario: Scenario, diary: Diary) -> None:
    """Install the release that the scenario names, and watch what it brings."""
    settings = scenario.scheduler
    of_optimizer = optimizer_values(scenario.optimizer) if settings.optimizer else {}
    with diary.step(f"release {settings.profile}"):
        serving = switch_release(
            bench,
            settings.profile,
            optimizer_enabled=settings.optimizer,
            values=merge_values(of_optimizer, settings.values),
        )
        diary.released(serving)
        for source in WATCHED:
            bench.observer.watch(source)
