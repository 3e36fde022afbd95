"""Whether the names in a scenario are those of something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import BRINGING, Draft
from stowage_testbed.scenario.issues import DocumentIssue, explain_unknown
from stowage_testbed.scenario.model import SCALED
from stowage_testbed.scenario.steps.action import NameUsed, Sort
from stowage_testbed.scenario.steps.applying import AskForPlan, Scale
from stowage_testbed.scenario.steps.arriving import Burst, Replay
from stowage_testbed.scenario.steps.kinds import actions_of, list_asked_plans, list_replayed_owners
from stowage_testbed.scenario.steps.waiting import Checkpoint


def names_are_known(draft: Draft) -> Iterator[DocumentIssue]:
    """A scenario names only what it has: in steps, expectations, `order`, `catch`."""
    known = _list_known(draft)
    for one in _list_names(draft):
        noun, sections, names = known[one.sort]
        if one.name not in names and draft.whole(*sections):
            message = explain_unknown(noun, one.name, names)
            of_key = one.place[-1] == one.name
            yield DocumentIssue(one.place, message, of_key=of_key)


def names_are_unique(draft: Draft) -> Iterator[DocumentIssue]:
    """No workload, object, plan or owner has the name of another."""
    taken = dict.fromkeys(draft.workload_names, "a workload")
    for name in draft.objects:
        if name in taken:
            message = f"{name!r} is {taken[name]} already; choose another name"
            yield DocumentIssue(("objects", name), message, of_key=True)
        taken.setdefault(name, "an object")
    for step in draft.steps:
        if isinstance(step.action, AskForPlan):
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
                message = f"cannot read {file}: {cause}; name the file of a trace"
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
    """A number of pods is one controller's, of a kind that has such a number."""
    by_name = {one.name: one for one in draft.workload.values()}
    for step in draft.steps:
        name = step.action.workload if isinstance(step.action, Scale) else ""
        workload = by_name.get(name)
        if workload and workload.kind not in SCALED:
            message = f"a {workload.kind} has no number of pods to change"
            way_out = "scale another workload"
            yield DocumentIssue(step.place("workload"), f"{message}; {way_out}")
        if workload and workload.controllers > 1:
            message = (
                f"{name} has several controllers, and a number of pods is one "
                "controller's; scale a workload without `controllers`"
            )
            yield DocumentIssue(step.place("workload"), message)


NAME_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    names_are_known,
    names_are_unique,
    pods_come_once,
    traces_can_be_read,
    templates_are_not_applied,
    scaled_workloads_have_one_controller,
)


def _list_names(draft: Draft) -> Iterator[NameUsed]:
    for _, used in draft.names_used():
        yield used
    order = () if draft.file.instance else draft.valid.get("order", ())
    for number, name in enumerate(order):
        yield NameUsed(("order", number), name, "controller")
    for number, item in enumerate(draft.valid.get("catch", ())):
        if isinstance(item, Mapping) and "describe" in item:
            place: Place = ("catch", number, "describe")
            yield NameUsed(place, item["describe"], "described")
    for base, expected in draft.moments:
        yield from _list_expected_names(base, expected)


def _list_expected_names(base: Place, expected: Mapping[str, Any]) -> Iterator[NameUsed]:
    for name in expected.get("pending", {}):
        yield NameUsed((*base, "pending", name), name, "pods")
    for name, nodes in expected.get("placements", {}).items():
        place = (*base, "placements", name)
        yield NameUsed(place, name, "pods")
        for number, node in enumerate(nodes):
            yield NameUsed((*place, number), node, "node")
    for number, group in enumerate(expected.get("groups", ())):
        for position, name in enumerate(group):
            yield NameUsed((*base, "groups", number, position), name, "pods")
    for name, one in expected.get("objects", {}).items():
        place = (*base, "objects", name)
        # Of a Kind/name the cluster alone knows whether it is there.
        if "/" not in name:
            yield NameUsed(place, name, "phased")
        if "nodeName" in one:
            yield NameUsed((*place, "nodeName"), one["nodeName"], "node")
        for owner in one.get("currentOwners", {}):
            yield NameUsed((*place, "currentOwners", owner), owner, "pods")


def _list_known(draft: Draft) -> dict[Sort, tuple[str, Sequence[str], Sequence[str]]]:
    """Return what to call a name of each sort, the sections it is from, and all."""
    workloads = draft.workload_names
    phased = [*draft.objects, *list_asked_plans(draft.steps)]
    applied = [*workloads, *draft.objects, *list_replayed_owners(draft.steps)]
    checkpoints = [one.name for one in actions_of(draft.steps, Checkpoint)]
    return {
        "applied": ("workload or object", BRINGING, applied),
        "controller": ("workload", BRINGING, workloads),
        "template": ("workload", BRINGING, workloads),
        "pods": ("workload", BRINGING, draft.pod_names),
        "phased": ("object", ("objects", "steps"), phased),
        "described": ("workload or object", BRINGING, [*workloads, *phased]),
        "node": ("node", ("nodes", "steps"), draft.node_names),
        "checkpoint": ("checkpoint", ("steps",), checkpoints),
    }
