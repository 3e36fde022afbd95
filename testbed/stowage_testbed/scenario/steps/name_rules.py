"""Whether the names that steps use are those of something."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.issues import DocumentIssue, unknown_name
from stowage_testbed.scenario.steps.action import Sort
from stowage_testbed.scenario.steps.applying import Scale, TriggerPlan
from stowage_testbed.scenario.steps.arriving import Burst, Replay
from stowage_testbed.scenario.steps.kinds import replayed_owners, triggered_plans


def names_are_known(draft: Draft) -> Iterator[DocumentIssue]:
    """Steps name only what the scenario has."""
    whole = draft.workload_whole and draft.objects_whole and draft.steps_whole
    known = _known(draft)
    for _, one in draft.names_used():
        noun, names = known[one.sort]
        complete = draft.nodes_whole and draft.steps_whole
        if one.name not in names and (complete if one.sort == "node" else whole):
            yield DocumentIssue(one.place, unknown_name(noun, one.name, names))


def caught_names_are_known(draft: Draft) -> Iterator[DocumentIssue]:
    """What `catch` describes exists."""
    if not (draft.workload_whole and draft.objects_whole and draft.steps_whole):
        return
    known = [*draft.workload_names, *_phased(draft)]
    for number, item in enumerate(draft.valid.get("catch", ())):
        name = item.get("describe") if isinstance(item, dict) else None
        if name is not None and name not in known:
            message = unknown_name("workload or object", name, known)
            yield DocumentIssue(("catch", number, "describe"), message)


def names_are_unique(draft: Draft) -> Iterator[DocumentIssue]:
    """No workload, object, plan or owner has the name of another."""
    taken = dict.fromkeys(draft.workload_names, "a workload")
    for name in draft.objects:
        if name in taken:
            message = f"{name!r} is {taken[name]} already; choose another name"
            yield DocumentIssue(("objects", name), message, of_key=True)
        taken.setdefault(name, "an object")
    for step in draft.steps:
        if isinstance(step.action, TriggerPlan):
            name = step.action.plan
            if name in taken:
                message = f"{name!r} is {taken[name]} already; choose another name"
                yield DocumentIssue(step.place("plan"), message)
            taken.setdefault(name, "a plan")
        if isinstance(step.action, Replay):
            for name in step.action.owners:
                if name in taken:
                    message = f"owner {name!r} of the trace is {taken[name]} already"
                    place = step.place("file")
                    yield DocumentIssue(place, f"{message}; rename one of them")


def pods_come_once(draft: Draft) -> Iterator[DocumentIssue]:
    """No two replays bring a pod of one name."""
    seen: dict[str, int] = {}
    for step in draft.steps:
        if not isinstance(step.action, Replay):
            continue
        clash = next((p.name for p in step.action.pods if p.name in seen), None)
        if clash:
            message = f"pod {clash!r} comes already in line {seen[clash]}"
            place = step.place("file")
            yield DocumentIssue(place, f"{message}; replay another trace")
        seen |= {pod.name: step.line for pod in step.action.pods}


def traces_can_be_read(draft: Draft) -> Iterator[DocumentIssue]:
    """The files of traces are there."""
    for step in draft.steps:
        if isinstance(step.action, Replay):
            file = step.action.file
            cause = draft.traces[file].unreadable
            if cause:
                message = f"cannot read {file}: {cause}; name a .csv or .json file"
                place = step.place("file")
                yield DocumentIssue(place, f"{message}, relative to this one")


def templates_are_not_applied(draft: Draft) -> Iterator[DocumentIssue]:
    """A controller would take pods for its own that a burst makes."""
    applied = {one.name for _, one in draft.names_used() if one.sort == "applied"}
    for step in draft.steps:
        if isinstance(step.action, Burst) and step.action.workload in applied:
            message = (
                f"workload {step.action.workload!r} is applied too, and its controller "
                "would take the burst's pods for its own; write a second workload"
            )
            yield DocumentIssue(step.place("workload"), message)


def scaled_workloads_have_one_controller(draft: Draft) -> Iterator[DocumentIssue]:
    """A number of pods is one controller's."""
    several = {w.name for w in draft.workload.values() if w.controllers > 1}
    for step in draft.steps:
        if isinstance(step.action, Scale) and step.action.workload in several:
            message = (
                f"{step.action.workload} has several controllers, and a number of pods "
                "is one controller's; scale a workload without `controllers`"
            )
            yield DocumentIssue(step.place("workload"), message)


NAME_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    names_are_known,
    caught_names_are_known,
    names_are_unique,
    pods_come_once,
    traces_can_be_read,
    templates_are_not_applied,
    scaled_workloads_have_one_controller,
)


def _known(draft: Draft) -> dict[Sort, tuple[str, list[str]]]:
    objects = list(draft.objects)
    return {
        "applied": (
            "workload or object",
            [*draft.workload_names, *objects, *replayed_owners(draft.steps)],
        ),
        "controller": ("workload", draft.workload_names),
        "template": ("workload", draft.workload_names),
        "pods": ("workload", draft.pod_names),
        "phased": ("object", _phased(draft)),
        "node": ("node", draft.node_names),
    }


def _phased(draft: Draft) -> list[str]:
    return [*draft.objects, *triggered_plans(draft.steps)]
