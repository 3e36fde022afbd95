"""A scenario in plain words: what will happen, with every default."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.amounts.resources import PODS, spell
from stowage_testbed.scenario.headlines import choose_headlines, is_measured
from stowage_testbed.scenario.model import CatchItem, Scenario, Workload
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.kinds import actions_of
from stowage_testbed.scenario.steps.nodes import pool_in_words
from stowage_testbed.scenario.steps.waiting import END, Check, Checkpoint

Deadlines = Callable[[Scenario, str, int], float]
"""Gives the deadline in seconds of a kind of step that changes so many nodes."""

_SHOWN = 20


def explain(scenario: Scenario, deadlines: Deadlines) -> str:
    """Return the scenario as text, one thing a line.

    Parameters
    ----------
    scenario
        A scenario or one of its variants.
    deadlines
        The deadlines that hold where the file names none.
    """
    return "\n".join(_write_lines(scenario, deadlines)) + "\n"


def _write_lines(scenario: Scenario, deadlines: Deadlines) -> Iterator[str]:
    yield from _write_head(scenario)
    yield from _write_world(scenario)
    yield from _write_steps(scenario, deadlines)


def _write_head(scenario: Scenario) -> Iterator[str]:
    yield scenario.scenario_id
    yield f"  {scenario.description}"
    if scenario.source:
        yield f"  source: {scenario.source}"
    if scenario.labels:
        yield f"  labels: {', '.join(scenario.labels)}"
    for name, value in scenario.parameters.items():
        yield f"  parameter {name} = {value}"


def _write_world(scenario: Scenario) -> Iterator[str]:
    yield "Nodes"
    for pool in scenario.nodes:
        yield f"  {pool_in_words(pool)}"
    if scenario.workload:
        yield "Workload"
    bursts = {burst.workload for burst in actions_of(scenario.steps, Burst)}
    for workload in scenario.workload[:_SHOWN]:
        alone = workload.name in bursts
        noun = "pods of bursts" if alone else _write_controller(workload)
        yield f"  {workload.name}: {noun}, {_write_pod(workload)}"
    if len(scenario.workload) > _SHOWN:
        yield f"  and {len(scenario.workload) - _SHOWN} more"
    if scenario.objects:
        yield "Objects"
    for item in scenario.objects.values():
        yield f"  {item.name}: {item.kind} [{item.place}]"


def _write_controller(workload: Workload) -> str:
    noun = "pod" if workload.replicas == 1 else "pods"
    if workload.kind == "Pod":
        return f"{workload.replicas} {noun} without a controller"
    if workload.controllers > 1:
        every = f"{workload.controllers} {workload.kind}s"
        return f"{every} of {workload.replicas} {noun} each"
    return f"{workload.kind} of {workload.replicas} {noun}"


def _write_pod(workload: Workload) -> str:
    takes = workload.takes.without(PODS)
    asks = " and ".join(f"{name} {spell(name, takes[name])}" for name in takes)
    text = f"each asks for {asks or 'nothing'}"
    text += f", priority {workload.priority}"
    if workload.runs_s is not None:
        text += f", is done after {workload.runs_s:g} s"
    if workload.ends_in_s:
        text += f", takes {workload.ends_in_s:g} s to end"
    return text


def _write_steps(scenario: Scenario, deadlines: Deadlines) -> Iterator[str]:
    if scenario.is_planned:
        yield "Optimiser"
        yield f"  {_write_optimizer(scenario)}"
    yield "Steps"
    for step in scenario.steps:
        yield from _write_step(scenario, step, deadlines)
    if scenario.expect.metrics or is_measured(scenario):
        yield "Of the measured window"
    for name, bound in scenario.expect.metrics.items():
        yield f"  {bound.in_words(name)}"
    if is_measured(scenario):
        yield f"  compared, verdicts are on {', '.join(choose_headlines(scenario))}"
    if scenario.expect.that:
        yield "Of the end, and of the window's metrics"
    for expression in scenario.expect.that:
        yield f"  it holds that {expression.text}"
    yield "Always"
    yield "  no invariant of `stowage_testbed.invariants` is broken"
    if scenario.catch:
        caught = ", ".join(_write_caught(item) for item in scenario.catch)
        yield f"If something fails, also kept as evidence: {caught}"


def _write_step(scenario: Scenario, step: Step, deadlines: Deadlines) -> Iterator[str]:
    action, indent = step.action, "       "
    if isinstance(action, Checkpoint) and action.awaited:
        yield f"At the end, within {deadlines(scenario, END, 0):g} s and at rest"
        indent = "  "
    else:
        limit = _write_deadline(scenario, step, deadlines)
        place = f" [line {step.line}]" if step.line else ""
        yield f"  {step.number}. {action.in_words()}{limit}{place}"
    if isinstance(action, Check | Checkpoint):
        for line in action.expect.in_words():
            yield f"{indent}{line}"
        if action.since:
            yield f"{indent}no priority is worse off than at {action.since}"


def _write_optimizer(scenario: Scenario) -> str:
    settings = scenario.optimizer
    asked = "asked when pods cannot be placed"
    if settings.trigger == "manual":
        asked = "asked by hand only"
    return (
        f"{asked} (settle {settings.settle_s:g} s, time limit "
        f"{settings.time_limit_s:g} s, policy {settings.policy}, strategy "
        f"{settings.strategy}, harm {settings.harm})"
    )


def _write_deadline(scenario: Scenario, step: Step, deadlines: Deadlines) -> str:
    action = step.action
    if action.deadline is None:
        return ""
    seconds = action.own_timeout_s
    if seconds is None:
        seconds = deadlines(scenario, action.kind, action.changed_nodes)
    return action.deadline.words.format(seconds)


def _write_caught(item: CatchItem) -> str:
    return {
        "events": "events",
        "logs": "logs of the release",
        "objects": f"every {item.of}",
        "describe": f"{item.of} with its events",
    }[item.what]
