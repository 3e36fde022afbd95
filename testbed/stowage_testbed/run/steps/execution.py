"""The steps of a scenario, one after the other, with any scheduler.

`run_steps` knows no scheduler: the caller starts it, and here only the pods are changed
as it needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.problem import problem_of
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.evidence import collect
from stowage_testbed.run.steps.observed_moment import observed_state, values_at
from stowage_testbed.run.steps.outcome import SteppedOutcome, StepRecord, Window
from stowage_testbed.run.steps.waiting import await_moment
from stowage_testbed.scenario.model import QUIET_S, Scenario
from stowage_testbed.scenario.steps.action import Action, Step

Effect = Callable[[StepContext, Any], None]


def effect_of(kind: type[Action]) -> Effect:
    """Return the function that carries a kind of step out.

    It has the kind's key as its name, and stands in the file of this folder that has
    the name of the file which declares the kind.
    """
    file = kind.__module__.rpartition(".")[2]
    module = import_module(f"{__package__}.{file}")
    effect: Effect = getattr(module, kind.kind.replace("-", "_"))
    return effect


def carry_out(context: StepContext, step: Step) -> None:
    """Carry one step out; returns when it is done."""
    context.step = step
    effect_of(type(step.action))(context, step.action)
    step.action.ask(context.demand)


def run_steps(
    run: RunContext,
    scenario: Scenario,
    environment: ScenarioEnvironment,
    pod_overrides: PodOverrides | None,
    recorder: RunRecorder,
    *,
    window_listener: WindowListener | None = None,
) -> SteppedOutcome:
    """Carry the steps out in a prepared environment, under a scheduler that serves.

    Parameters
    ----------
    run, environment
        Where; the environment is the scenario's own.
    scenario
        One with steps.
    pod_overrides
        What is changed in every pod that the steps create; ``None`` for nothing.
    recorder
        Receives every step; its logs are part of the evidence.
    window_listener
        Called when the measured window opens and closes.

    Returns
    -------
    SteppedOutcome
        The result. A step that fails ends the steps and is reported there; nothing is
        raised for it.
    """
    context = StepContext(
        run,
        scenario,
        environment,
        pod_overrides,
        recorder.report,
        window_listener or WindowListener(),
    )
    records: list[StepRecord] = []
    evidence: dict[str, str] = {}
    error = problem_of(context.try_objects)
    for step in scenario.steps:
        if not error:
            records.append(_executed(context, step, recorder))
            error = records[-1].error
            # Before the next step changes what explains the failure.
            evidence = evidence or _evidence(context, error, recorder)
    if not error:
        error = _end(context, recorder)
    return SteppedOutcome(
        steps=tuple(records),
        window=_window(context),
        checks=tuple(context.checks),
        state=run.observer.read(
            lambda seen: observed_state(seen, scenario, environment.namespace)
        ),
        evidence=evidence or _evidence(context, error, recorder),
        recovery=context.recovery,
        error=error,
        values=_last_values(context) if scenario.expect.that else {},
    )


def _executed(context: StepContext, step: Step, recorder: RunRecorder) -> StepRecord:
    clock = context.run.observer.clock
    began, context.facts = clock.now(), {}
    recorder.report(f"{step}: {step.action.in_words()}")
    with recorder.timed("steps"):
        error = problem_of(lambda: carry_out(context, step))
    if error:
        file = context.scenario.path
        where = f"{step}" if file is None else f"{step} of {file}"
        error = f"{where} failed: {error}"
    lasted_s = clock.now().seconds_since(began)
    return StepRecord(step, lasted_s, dict(context.facts), error)


def _end(context: StepContext, recorder: RunRecorder) -> str:
    """Check what is expected of the end; return why it could not be."""
    recorder.report("the end: what is expected must hold")

    def act() -> None:
        context.checks += await_moment(
            context,
            context.scenario.expect.end,
            timeout_s=context.timeouts.step_s(context.scenario, "end"),
            stable_s=QUIET_S,
        )

    with recorder.timed("steps"):
        error = problem_of(act)
    return f"the end: {error}" if error else ""


def _evidence(
    context: StepContext, error: str, recorder: RunRecorder
) -> dict[str, str]:
    """Return what the scenario's `catch` names, if something has failed."""
    failed = error or not all(one.passed for one in context.checks)
    return collect(context, recorder.log_texts) if failed else {}


def _last_values(context: StepContext) -> dict[str, Any]:
    return context.run.observer.read(lambda seen: values_at(seen, context))


def _window(context: StepContext) -> Window | None:
    if context.started is None or context.stopped is None:
        return None
    return Window(context.started, context.stopped)
