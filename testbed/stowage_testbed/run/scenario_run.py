"""One scenario, once: prepare, carry its steps out, record, clean up."""

from contextlib import nullcontext
from typing import Any

from stowage_testbed.base import health
from stowage_testbed.cluster.supervision import needing_host_pods
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.run.context import PROBLEMS, RunContext, catch_problem, in_words
from stowage_testbed.run.environment import check_node_names, clear, name_namespace, prepare
from stowage_testbed.run.execution import Execution, Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome, make_outcome
from stowage_testbed.run.request import find_missing
from stowage_testbed.run.window_record import check_invariants, make_window_record
from stowage_testbed.scenario.check import check_expressions, check_metrics
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.checking import read_values


def run_scenario(
    context: RunContext, scenario: Scenario, repeat: int, listener: Listener, harness: Harness | None = None
) -> ScenarioOutcome:
    """Run a scenario on a cluster and leave the cluster as it was.

    One that needs what the cluster lacks is skipped. One with the name of a node that
    is there already fails, and touches nothing.

    An error of the scenario is part of its outcome. One in the clean-up is raised: the
    next scenario would not find a fresh cluster.
    """
    cluster = context.cluster
    if missing := find_missing(cluster.backend, scenario) or cluster.find_missing(scenario.features):
        listener.run_progress(f"{scenario.scenario_id}: skipped: {missing}")
        return make_outcome(scenario, repeat, skipped=missing)
    listener.scenario_started(scenario, repeat)
    namespace = name_namespace(context, scenario, repeat)
    recorder, harness = RunRecorder(context, namespace, listener), harness or Harness()
    needed = needing_host_pods if harness.is_supervised else nullcontext
    if error := catch_problem(lambda: check_node_names(context, scenario)):
        # Nothing is made, and so nothing is cleared: the nodes are somebody's own.
        outcome = make_outcome(scenario, repeat, error=error)
        listener.scenario_ended(outcome)
        listener.scenario_finished(outcome, recorder)
        return outcome
    try:
        with needed(context.cluster):
            outcome = _carry_out(context, scenario, repeat, recorder, harness)
            if outcome.error:
                health.raise_cause()
        if not outcome.passed:
            # Whatever it has done to the release is not the next one's matter.
            context.serving = None
        listener.scenario_ended(outcome)
        listener.scenario_finished(outcome, recorder)
        with recorder.step("clean up"):
            clear(context, scenario, namespace)
    except (KeyboardInterrupt, SystemExit):
        # A cluster that ends with the run takes everything along, and is quicker.
        if context.lasting:
            clear(context, scenario, namespace)
        raise
    return outcome


def _carry_out(
    context: RunContext, scenario: Scenario, repeat: int, recorder: RunRecorder, harness: Harness
) -> ScenarioOutcome:
    found: dict[str, Any] = {}
    errors: list[str] = []
    try:
        with recorder.step("prepare"):
            prepare(context, scenario, recorder.namespace)
        with harness.serving(recorder.namespace, recorder):
            steps = Execution(context, scenario, recorder, harness)
            errors.append(steps.carry_all_out())
            found = _judge(steps, failed=bool(errors[0]))
    except PROBLEMS as problem:
        errors.append(in_words(problem))
    return make_outcome(
        scenario,
        repeat,
        **found,
        plans=tuple(context.observer.read(lambda state: state.plans())),
        error="; ".join(filter(None, errors)),
        durations_s=recorder.durations_s,
    )


def _judge(steps: Execution, *, failed: bool) -> dict[str, Any]:
    """Return what came of the steps, as fields of an outcome: also the metrics, and the checks of the end."""
    record = make_window_record(steps)
    metrics = metrics_of(record) if record and steps.harness.is_judged else ()
    checks, expect = list(steps.checks), steps.scenario.expect
    if steps.harness.is_judged and not failed:  # otherwise the step that failed says it all
        values = {metric.name: metric.value for metric in metrics}
        notes = {metric.name: metric.note for metric in metrics}
        checks += check_metrics(expect.metrics, values, notes)
        if expect.that:
            there = steps.observer.read(lambda seen: read_values(seen, steps, expect.that))
            checks += check_expressions(expect.that, {**there, "metrics": values})
    if steps.harness.is_judged:
        checks += check_invariants(steps.run, steps.recorder, expect.allow)
    return {
        "steps": tuple(steps.records),
        "checkpoints": tuple(steps.checkpoints),
        "states": steps.states,
        "checks": tuple(checks),
        "window": steps.window,
        "record": record,
        "metrics": metrics,
        "recovery": steps.recovery,
        "evidence": steps.evidence,
        "refused": steps.refused,
    }
