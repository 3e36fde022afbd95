"""One scenario, once: prepare, place, optimise, tell, clean up."""

from __future__ import annotations

from stowage_testbed.cluster.supervision import PATIENCE_S, needing_host_pods
from stowage_testbed.ending import EndingInterrupt, await_end
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.cluster_needs import missing_at
from stowage_testbed.run.deterministic_phase import run_deterministic
from stowage_testbed.run.diary import Diary
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.optimizer_phase import run_optimizer
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.problem import PROBLEMS, in_words
from stowage_testbed.run.site import clear, namespace_of, prepare
from stowage_testbed.run.stepped_phase import run_stepped
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.scenario.model import Scenario


def run_scenario(
    bench: Bench, scenario: Scenario, repeat: int, listener: Listener
) -> ScenarioOutcome:
    """Run a scenario on a cluster and leave the cluster as it was.

    One that needs what the cluster lacks is skipped.

    An error of the scenario is part of its outcome. One in the clean-up is raised: the
    next scenario would not find a fresh cluster.
    """
    if missing := missing_at(bench.cluster.backend, scenario):
        listener.stage(f"{scenario.scenario_id}: skipped: {missing}")
        return ScenarioOutcome(scenario, repeat, skipped=missing)
    listener.scenario_started(scenario, repeat)
    diary = Diary(bench, listener)
    try:
        with needing_host_pods(bench.cluster):
            outcome = _carried_out(bench, scenario, repeat, diary)
            if outcome.error:
                await_end(PATIENCE_S)
    except EndingInterrupt:
        # Nobody is there to clear anything.
        raise
    except (KeyboardInterrupt, SystemExit):
        if bench.lasting:
            clear(bench, scenario, repeat)
        raise
    namespace = namespace_of(bench, scenario, repeat)
    listener.scenario_finished(outcome, diary.material(namespace))
    with diary.step("clean up"):
        clear(bench, scenario, repeat)
    return outcome


def _carried_out(
    bench: Bench, scenario: Scenario, repeat: int, diary: Diary
) -> ScenarioOutcome:
    before = after = end = None
    stepped: SteppedOutcome | None = None
    metrics: tuple[Metric, ...] = ()
    error = ""
    try:
        with diary.step("prepare"):
            site = prepare(bench, scenario, repeat)
        if scenario.steps:
            stepped, end, metrics = run_stepped(bench, scenario, site, diary)
            error = stepped.error
        else:
            before = run_deterministic(bench, scenario, site, diary)
            after = run_optimizer(bench, scenario, site, diary, before.state)
    except PROBLEMS as problem:
        error = in_words(problem)
    return ScenarioOutcome(
        scenario=scenario,
        repeat=repeat,
        before=before,
        after=after,
        end=end,
        stepped=stepped,
        metrics=metrics,
        plans=tuple(bench.observer.read(lambda state: state.plans())),
        error=error,
        durations_s=diary.durations_s,
    )
