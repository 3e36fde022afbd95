"""Whether the steps can follow each other as they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.scenario.draft import BRINGING, Draft
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.action import NameUsed, Step
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.demand import Demand
from stowage_testbed.scenario.steps.kinds import actions_of
from stowage_testbed.scenario.steps.measuring import Measure
from stowage_testbed.scenario.steps.nodes import AddNodes, RemoveNodes
from stowage_testbed.scenario.steps.placing import Place
from stowage_testbed.scenario.steps.waiting import END, FAILED, Check, Checkpoint, Wait


def things_are_there_when_used(draft: Draft) -> Iterator[DocumentIssue]:
    """Nothing is used before it is applied, applied twice, or used when deleted."""
    if not (draft.whole("steps") and _applied_is_known(draft)):
        return
    used = _list_used_by_step(draft)
    there: dict[str, int] = {}
    for step in draft.steps:
        for one in used.get(step.number, ()):
            yield from _check_use(step, one, there)
        there |= dict.fromkeys(step.action.brings, step.line)
        for name in step.action.removes:
            there.pop(name, None)


def everything_is_used(draft: Draft) -> Iterator[DocumentIssue]:
    """Every workload and object is applied by some step."""
    whole = draft.stepped and draft.whole("steps")
    if not (whole and _applied_is_known(draft)):
        return
    used: set[str] = set()
    for step in draft.steps:
        if isinstance(step.action, Apply | Place):
            used |= set(step.action.brings)
        if isinstance(step.action, Burst):
            used.add(step.action.workload)
    for place, workload in draft.workload.items():
        if workload.name not in used:
            message = f"workload {workload.name!r} is used by no step"
            yield DocumentIssue(place, f"{message}; apply it or remove it")
    for name in draft.objects:
        if name not in used:
            message = f"object {name!r} is used by no step; apply it or remove it"
            yield DocumentIssue(("objects", name), message, of_key=True)


def waits_are_for_pods(draft: Draft) -> Iterator[DocumentIssue]:
    """A wait for all pods comes when there are any."""
    if not (draft.whole(*BRINGING)):
        return
    demand = Demand(draft.pods_by_name)
    for step in draft.steps:
        step.action.ask(demand)
        wait = step.action
        if not isinstance(wait, Wait) or wait.condition in {"gone", "phase"}:
            continue
        asked = demand.of(wait.of) if wait.of else demand.total
        if wait.count is None and not asked:
            message = "the steps before have asked for no pod; write `count`"
            yield DocumentIssue(step.place(), f"{message}, or wait later")


def nodes_are_there_when_used(draft: Draft) -> Iterator[DocumentIssue]:
    """No step uses a node before it is added, or after it was removed."""
    if not (draft.whole("steps", "nodes")):
        return
    known = set(draft.node_names)
    there = {name for pool in draft.nodes.values() for name in pool.node_names()}
    there |= set(draft.nodes_as_objects)
    used = _list_used_by_step(draft)
    for step in draft.steps:
        for one in used.get(step.number, ()):
            if one.sort == "node" and one.name in known - there:
                message = f"node {one.name!r} is not there at this step"
                yield DocumentIssue(one.place, f"{message}; add it before, or later remove")
        if isinstance(step.action, AddNodes):
            there |= set(step.action.pool.node_names())
        if isinstance(step.action, RemoveNodes):
            there -= set(step.action.nodes)


def one_measured_window(draft: Draft) -> Iterator[DocumentIssue]:
    """There is one window at most, with a start and a stop."""
    if not draft.whole("steps"):
        return
    edges = [(step, step.action.edge) for step in draft.steps if isinstance(step.action, Measure)]
    wanted = ["start", "stop"]
    for position, (step, edge) in enumerate(edges):
        if position >= len(wanted):
            message = "there is one measured window, and it is over; remove this step"
            yield DocumentIssue(step.place(), message)
        elif edge != wanted[position]:
            message = f"here the window should {wanted[position]}; exchange the steps"
            yield DocumentIssue(step.place(), message)
    if len(edges) == 1:
        message = "the measured window never stops; add `measure: stop`"
        yield DocumentIssue(edges[0][0].place(), message)


def checkpoints_come_before_their_use(draft: Draft) -> Iterator[DocumentIssue]:
    """No two checkpoints have one name, and a check names one before it."""
    lines: dict[str, int] = {}
    every = {one.name for one in actions_of(draft.steps, Checkpoint)}
    for step in draft.steps:
        match step.action:
            case Checkpoint(name=name) if name in lines:
                message = f"checkpoint {name!r} stands already in line {lines[name]}"
                yield DocumentIssue(step.place(), f"{message}; choose another name")
            case Checkpoint(name=name) if name in {END, FAILED}:
                message = f"{name!r} is how a scenario itself calls what it ends with"
                yield DocumentIssue(step.place(), f"{message}; choose another name")
            case Check(since=name) if name in every - set(lines):
                message = f"checkpoint {name!r} comes later; exchange the steps"
                yield DocumentIssue(step.place("since"), message)
        if isinstance(step.action, Checkpoint):
            lines.setdefault(step.action.name, step.line)


ORDER_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    things_are_there_when_used,
    everything_is_used,
    waits_are_for_pods,
    nodes_are_there_when_used,
    one_measured_window,
    checkpoints_come_before_their_use,
)


def _applied_is_known(draft: Draft) -> bool:
    """Return whether all that is applied has a name that is known.

    What an unknown one was meant to be would be called unused, and missing, too.
    """
    known = {*draft.workload_names, *draft.objects}
    return all(name in known for step in draft.steps if isinstance(step.action, Apply) for name in step.action.names)


def _list_used_by_step(draft: Draft) -> dict[int, list[NameUsed]]:
    used: dict[int, list[NameUsed]] = {}
    for step, one in draft.names_used():
        used.setdefault(step.number, []).append(one)
    return used


def _check_use(step: Step, one: NameUsed, there: dict[str, int]) -> Iterator[DocumentIssue]:
    if one.sort in {"node", "template", "checkpoint"}:
        return
    if isinstance(step.action, Apply | Place):
        if one.name in there:
            message = f"{one.name!r} was applied already in line {there[one.name]}"
            yield DocumentIssue(one.place, f"{message}; delete it before")
    elif one.name not in there:
        message = f"{one.name!r} is not there at this step; apply it before"
        yield DocumentIssue(one.place, message)
