"""The steps of a scenario, one after the other, with any scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject, drop_bookkeeping, name_of, write_event_table
from stowage_testbed.run.context import catch_problem
from stowage_testbed.run.outcome import StepRecord
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.moments import note_checkpoint
from stowage_testbed.scenario.model import CatchItem
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import Release
from stowage_testbed.scenario.steps.waiting import FAILED, Checkpoint

Effect = Callable[[StepContext, Any], None]


@cache
def effect_of(kind: type[Action]) -> Effect:
    """Return the function that carries a kind of step out: it has the kind's key as its name."""
    name = kind.kind.replace("-", "_")
    for file in iter_modules([str(Path(__file__).parent)]):
        module = import_module(f"{__package__}.{file.name}")
        effect: Effect | None = vars(module).get(name)
        if effect is not None and getattr(effect, "__module__", "") == module.__name__:
            return effect
    raise StowageError(f"nothing carries a step {kind.kind!r} out; write a function {name} in {__package__}")


def carry_out(context: StepContext, step: Step) -> None:
    """Carry one step out, with what surrounds it; returns when it is done."""
    context.step = step
    context.harness.before(context, step)
    effect_of(type(step.action))(context, step.action)
    step.action.ask(context.demand)
    context.harness.after(context, step)


def carry_all_out(context: StepContext) -> str:
    """Carry the steps of the scenario out; return why they ended early, if they did.

    A step that fails ends them, and nothing is raised for it. What they produced, also evidence, is in the context.
    """
    error = catch_problem(context.try_objects) or catch_problem(context.try_workloads)
    names = _name_next_checkpoints(context.scenario.steps)
    for step, name in zip(context.scenario.steps, names, strict=True):
        if not error:
            context.records.append(_record(context, step, name))
            error = context.records[-1].error
            # Before the next step changes what explains the failure.
            _keep_evidence(context, error)
    _keep_evidence(context, error)
    if error:
        # Without an API server there is nothing to note.
        catch_problem(lambda: note_checkpoint(context, FAILED))
    return error


def _name_next_checkpoints(steps: Sequence[Step]) -> list[str]:
    """Return, for each step, what its time counts for."""
    names, name = [], "steps"
    for action in (step.action for step in reversed(steps)):
        name = action.name if isinstance(action, Checkpoint) else name
        names.append(f"release {action.profile}" if isinstance(action, Release) else name)
    return names[::-1]


def _record(context: StepContext, step: Step, counts_for: str) -> StepRecord:
    clock, recorder = context.run.observer.clock, context.recorder
    began, context.facts = clock.now(), {}
    recorder.report(step.in_words())
    with recorder.time_step(counts_for):
        error = catch_problem(lambda: carry_out(context, step))
    if error:
        file = context.scenario.path
        where = f"{step}" if file is None or not step.line else f"{step} of {file}"
        error = f"{where} failed: {error}"
    lasted_s = clock.now().seconds_since(began)
    return StepRecord(step.number, step.kind, step.line, step.action.in_words(), lasted_s, dict(context.facts), error)


def _keep_evidence(context: StepContext, error: str) -> None:
    """Keep what the scenario's `catch` names, once, if something has failed."""
    failed = error or not all(one.passed for one in context.checks)
    if failed and not context.evidence:
        context.evidence |= collect(context, context.recorder.log_texts)


def collect(context: StepContext, logs: Callable[[], Mapping[str, str]]) -> dict[str, str]:
    """Return the evidence by file name; what cannot be had says why."""
    found: dict[str, str] = {}
    for item in context.scenario.catch:
        try:
            found.update(_collect_item(context, item, logs))
        except StowageError as error:
            found[f"{item.what}-{item.of or 'all'}.txt"] = f"{error}\n"
    return found


def _collect_item(
    context: StepContext, item: CatchItem, logs: Callable[[], Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    events = context.run.observer.read(lambda state: state.bodies("Event", context.namespace))
    match item.what:
        case "events":
            yield "events.txt", write_event_table(events)
        case "logs":
            for name, text in logs().items():
                yield f"{name}.log", text
        case "objects":
            # A kind without namespaces passes over this one.
            yield f"objects-{item.of}.yaml", _dump(context.objects.each(item.of, context.namespace))
        case "describe":
            # The object and the events about it, or about pods of that workload.
            name, written, workload = item.of, context.object(item.of), context.workload(item.of)
            kind = written.kind if written else workload.kind if workload else "PackingPlan"
            bodies = [one for one in context.objects.each(kind, context.namespace) if name_of(one) == name]
            names = {name, *(pod.name for pod in context.pods_of(name))}
            about = [event for event in events if event["involvedObject"].get("name") in names]
            there = _dump(bodies) if bodies else f"there is no {kind} {name}\n"
            yield f"describe-{name}.txt", f"{there}\n{write_event_table(about)}"


def _dump(bodies: Iterable[JsonObject]) -> str:
    plain: list[Any] = [drop_bookkeeping(dict(body)) for body in bodies]
    return yaml.safe_dump_all(plain, sort_keys=False)
