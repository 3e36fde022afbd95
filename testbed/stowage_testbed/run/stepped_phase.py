"""A scenario with steps under the release of the chart that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_testbed.compare.recording import RunLabel
from stowage_testbed.helm.values import merge_values
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.diary import Diary
from stowage_testbed.run.invariant_checks import WATCHED, invariant_checks
from stowage_testbed.run.measure import measured
from stowage_testbed.run.optimizer_phase import optimizer_values
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.release import switch_release
from stowage_testbed.run.site import Site
from stowage_testbed.run.steps.carrying_out import run_steps
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.run.window_record import window_record
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.check_metrics import check_metrics
from stowage_testbed.scenario.model import Scenario

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""


def run_stepped(
    bench: Bench, scenario: Scenario, site: Site, diary: Diary
) -> tuple[SteppedOutcome, PhaseOutcome, tuple[Metric, ...]]:
    """Install the release, carry the steps out, and measure.

    Bounds on metrics and the invariants are checked besides what the steps expect.
    """
    _release(bench, scenario, diary)
    stepped = run_steps(bench, scenario, site, None, diary)
    label = RunLabel(scenario.scenario_id, ARM)
    record = window_record(bench, scenario, site, stepped, diary, label=label)
    window, metrics = stepped.window, metrics_of(record) if record else ()
    end = measured(
        bench,
        stepped.state,
        [one for one in diary.changes() if window is None or window.holds(one.receipt)],
        site.namespace,
        diary.audit_start,
        duration_s=window.length_s if window else diary.durations_s.get("steps", 0.0),
        checks=(
            *stepped.checks,
            *_metric_checks(scenario, stepped, metrics),
            *invariant_checks(bench, diary),
        ),
    )
    return stepped, end, metrics


def _metric_checks(
    scenario: Scenario, stepped: SteppedOutcome, metrics: Sequence[Metric]
) -> Iterator[CheckResult]:
    """Check the bounds on metrics, unless the step that failed says it all."""
    return check_metrics(
        {} if stepped.error else scenario.expect.metrics,
        {metric.name: metric.value for metric in metrics},
        {metric.name: metric.note for metric in metrics},
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
