"""The steps of a scenario, one after the other, with any scheduler.

`run_steps` knows no scheduler: which one serves is its caller's business, here only the
pods wear what it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.diary import Diary
from stowage_testbed.run.problem import problem_of
from stowage_testbed.run.site import Site
from stowage_testbed.run.steps import applying, arriving, nodes, planning
from stowage_testbed.run.steps.course import Course
from stowage_testbed.run.steps.evidence import collect
from stowage_testbed.run.steps.gauge import Gauge
from stowage_testbed.run.steps.measuring import measure
from stowage_testbed.run.steps.observed_moment import observed_state
from stowage_testbed.run.steps.outcome import SteppedOutcome, StepRecord, Window
from stowage_testbed.run.steps.overloading import overload
from stowage_testbed.run.steps.waiting import await_moment, check, wait
from stowage_testbed.run.workload import QUIET_S
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps import model
from stowage_testbed.scenario.steps.words import in_words

_CARRY: Mapping[type, Callable[[Course, Any], None]] = {
    model.Apply: applying.apply,
    model.Delete: applying.delete,
    model.Scale: applying.scale,
    model.Evict: applying.evict,
    model.Usage: applying.use,
    model.Burst: arriving.burst,
    model.Replay: arriving.replay,
    model.Wait: wait,
    model.Cordon: nodes.cordon,
    model.Uncordon: nodes.uncordon,
    model.TaintNodes: nodes.taint,
    model.UntaintNodes: nodes.untaint,
    model.AddNodes: nodes.add,
    model.RemoveNodes: nodes.remove,
    model.TriggerPlan: planning.trigger,
    model.Overload: overload,
    model.Measure: measure,
}


def run_steps(
    bench: Bench,
    scenario: Scenario,
    site: Site,
    dress: Dress | None,
    diary: Diary,
    *,
    gauge: Gauge | None = None,
) -> SteppedOutcome:
    """Carry the steps out on a site that is prepared, under a scheduler that serves.

    Parameters
    ----------
    bench, site
        Where; the site is the scenario's own.
    scenario
        One with steps.
    dress
        What every pod wears that the steps create; ``None`` leaves them as they are.
    diary
        Is told of every step; its logs are part of the evidence.
    gauge
        Is told when the measured window opens and closes.

    Returns
    -------
    SteppedOutcome
        What came of it. A step that fails ends the steps and is told there; nothing is
        raised for it.
    """
    course = Course(bench, scenario, site, dress, diary.tell, gauge or Gauge())
    records: list[StepRecord] = []
    evidence: dict[str, str] = {}
    error = problem_of(course.watch_objects)
    for step in scenario.steps:
        if not error:
            records.append(_carried_out(course, step, diary))
            error = records[-1].error
            # Before the next step changes what explains the failure.
            evidence = evidence or _evidence(course, error, diary)
    if not error:
        error = _end(course, diary)
    return SteppedOutcome(
        steps=tuple(records),
        window=_window(course),
        checks=tuple(course.checks),
        state=bench.observer.read(lambda seen: observed_state(seen, course)),
        evidence=evidence or _evidence(course, error, diary),
        recovery=course.recovery,
        error=error,
    )


def _carried_out(course: Course, step: model.Step, diary: Diary) -> StepRecord:
    clock = course.bench.observer.clock
    began, course.facts = clock.now(), {}
    diary.tell(f"{step}: {in_words(step.action)}")
    with diary.timed("steps"):
        error = problem_of(lambda: _act(course, step))
    course.demand.follow(step.action)
    if error:
        file = course.scenario.path
        where = f"{step}" if file is None else f"{step} of {file}"
        error = f"{where} failed: {error}"
    lasted_s = clock.now().seconds_since(began)
    return StepRecord(step, lasted_s, dict(course.facts), error)


def _act(course: Course, step: model.Step) -> None:
    if isinstance(step.action, model.Check):
        check(course, step.action, step)
    else:
        _CARRY[type(step.action)](course, step.action)


def _end(course: Course, diary: Diary) -> str:
    """Check what is expected of the end; return why it could not be."""
    diary.tell("the end: what is expected must hold")

    def act() -> None:
        course.checks += await_moment(
            course,
            course.scenario.expect.end,
            timeout_s=course.timeouts.step_s(course.scenario, "end"),
            stable_s=QUIET_S,
        )

    with diary.timed("steps"):
        error = problem_of(act)
    return f"the end: {error}" if error else ""


def _evidence(course: Course, error: str, diary: Diary) -> dict[str, str]:
    """Return what the scenario's `catch` names, if something has failed."""
    failed = error or not all(one.passed for one in course.checks)
    return collect(course, diary.log_texts) if failed else {}


def _window(course: Course) -> Window | None:
    if course.started is None or course.stopped is None:
        return None
    return Window(course.started, course.stopped)
