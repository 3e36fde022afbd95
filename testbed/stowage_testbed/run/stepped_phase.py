"""A scenario with steps under the release of the chart that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_testbed.helm.values import merge_values
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.invariant_checks import WATCHED, invariant_checks
from stowage_testbed.run.measure import measured
from stowage_testbed.run.optimizer_phase import optimizer_values
from stowage_testbed.run.outcome import PhaseOutcome
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.release import switch_release
from stowage_testbed.run.steps.execution import run_steps
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.run.window_record import window_record
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.check_metrics import check_metrics
from stowage_testbed.scenario.model import Scenario

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""


def run_stepped(
    context: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    recorder: RunRecorder,
) -> tuple[SteppedOutcome, PhaseOutcome, tuple[Metric, ...]]:
    """Install the release, carry the steps out, and measure.

    Bounds on metrics and the invariants are checked besides what the steps expect.
    """
    _release(context, scenario, recorder)
    stepped = run_steps(context, scenario, environment, None, recorder)
    label = RunLabel(scenario.scenario_id, ARM)
    record = window_record(
        context, scenario, environment, stepped, recorder, label=label
    )
    window, metrics = stepped.window, metrics_of(record) if record else ()
    end = measured(
        context,
        stepped.state,
        [
            one
            for one in recorder.changes()
            if window is None or window.holds(one.receipt)
        ],
        environment.namespace,
        recorder.audit_start,
        duration_s=window.length_s
        if window
        else recorder.durations_s.get("steps", 0.0),
        checks=(
            *stepped.checks,
            *_metric_checks(scenario, stepped, metrics),
            *invariant_checks(context, recorder),
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


def _release(context: RunContext, scenario: Scenario, recorder: RunRecorder) -> None:
    """Install the release that the scenario names, and watch what it brings."""
    settings = scenario.scheduler
    of_optimizer = optimizer_values(scenario.optimizer) if settings.optimizer else {}
    with recorder.step(f"release {settings.profile}"):
        serving = switch_release(
            context,
            settings.profile,
            optimizer_enabled=settings.optimizer,
            values=merge_values(of_optimizer, settings.values),
        )
        recorder.released(serving)
        for source in WATCHED:
            context.observer.watch(source)
