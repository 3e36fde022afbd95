"""One scenario, once: prepare, place, optimise, report, clean up."""

from __future__ import annotations

from stowage_testbed.cluster.supervision import PATIENCE_S, needing_host_pods
from stowage_testbed.ending import EndingInterrupt, await_end
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.run.cluster_needs import missing_at
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import clear, namespace_of, prepare
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import PhaseOutcome, ScenarioOutcome
from stowage_testbed.run.phases import run_half, run_stepped
from stowage_testbed.run.problem import PROBLEMS, in_words
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.scenario.model import Scenario


def run_scenario(
    context: RunContext, scenario: Scenario, repeat: int, listener: Listener
) -> ScenarioOutcome:
    """Run a scenario on a cluster and leave the cluster as it was.

    One that needs what the cluster lacks is skipped.

    An error of the scenario is part of its outcome. One in the clean-up is raised: the
    next scenario would not find a fresh cluster.
    """
    if missing := missing_at(context.cluster.backend, scenario):
        listener.stage(f"{scenario.scenario_id}: skipped: {missing}")
        return ScenarioOutcome(scenario, repeat, skipped=missing)
    listener.scenario_started(scenario, repeat)
    recorder = RunRecorder(context, listener)
    try:
        with needing_host_pods(context.cluster):
            outcome = _executed(context, scenario, repeat, recorder)
            if outcome.error:
                await_end(PATIENCE_S)
    except EndingInterrupt:
        # The process is being ended; there is no time to clear anything.
        raise
    except (KeyboardInterrupt, SystemExit):
        if context.lasting:
            clear(context, scenario, repeat)
        raise
    namespace = namespace_of(context, scenario, repeat)
    listener.scenario_finished(outcome, recorder.material(namespace))
    with recorder.step("clean up"):
        clear(context, scenario, repeat)
    return outcome


def _executed(
    context: RunContext, scenario: Scenario, repeat: int, recorder: RunRecorder
) -> ScenarioOutcome:
    reached: list[PhaseOutcome] = []
    end: PhaseOutcome | None = None
    stepped: SteppedOutcome | None = None
    metrics: tuple[Metric, ...] = ()
    error = ""
    try:
        with recorder.step("prepare"):
            environment = prepare(context, scenario, repeat)
        if scenario.steps:
            stepped, end, metrics = run_stepped(
                context, scenario, environment, recorder
            )
            error = stepped.error
        for half in scenario.halves:
            before = reached[0] if reached else None
            reached.append(
                run_half(context, scenario, half, environment, recorder, before=before)
            )
    except PROBLEMS as problem:
        error = in_words(problem)
    return ScenarioOutcome(
        scenario=scenario,
        repeat=repeat,
        before=reached[0] if reached else None,
        after=reached[1] if len(reached) > 1 else None,
        end=end,
        stepped=stepped,
        metrics=metrics,
        plans=tuple(context.observer.read(lambda state: state.plans())),
        error=error,
        durations_s=recorder.durations_s,
    )
