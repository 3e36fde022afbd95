"""A scenario with steps under the release of the chart that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from testbed.compare.recording import RunLabel
from testbed.helm.values import merge_values
from testbed.metrics.catalogue import metrics_of
from testbed.metrics.metric import Metric
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
from testbed.run.window_record import window_record
from testbed.scenario.check import CheckResult
from testbed.scenario.check_metrics import check_metrics
from testbed.scenario.model import Scenario

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
