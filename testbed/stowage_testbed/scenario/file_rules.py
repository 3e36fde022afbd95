"""What no schema can say: whether the parts of one scenario fit each other.

Each rule is a function from a draft to issues; `RULES` is all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stowage_testbed.amounts.resources import CPU, MEMORY, PODS
from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.expectation_rules import EXPECTATION_RULES
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.name_rules import NAME_RULES
from stowage_testbed.scenario.order_rules import ORDER_RULES
from stowage_testbed.scenario.steps.applying import AskForPlan
from stowage_testbed.scenario.steps.kinds import actions_of, list_replayed_nodes
from stowage_testbed.scenario.steps.scheduling import RESERVING_PROFILES, Pack, Release


def one_source_of_pods(draft: Draft) -> Iterator[DocumentIssue]:
    """Nodes and workload are either written down or generated."""
    written = [key for key in ("nodes", "workload") if key in _data_of(draft)]
    if "instance" in _data_of(draft):
        for key in (*written, *(["order"] if "order" in _data_of(draft) else [])):
            message = f"`instance` brings nodes and workload; remove {key!r} or it"
            yield DocumentIssue((key,), message, of_key=True)
        return
    # Traces bring pods too, and those that were recorded bring nodes.
    brought = bool(list_replayed_nodes(draft.steps))
    for key in ("nodes",) if draft.stepped else ("nodes", "workload"):
        if key not in written and not brought and draft.whole("steps"):
            message = f"the scenario lacks {key!r}; write it, or an `instance`"
            yield DocumentIssue((), message)


def unique_workloads(draft: Draft) -> Iterator[DocumentIssue]:
    """No two workloads have one name."""
    first: dict[str, Place] = {}
    items = _data_of(draft).get("workload")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            continue
        place: Place = ("workload", number, "name")
        if name in first:
            line = draft.document.mark(first[name]).line
            message = f"workload {name!r} stands already in line {line}"
            yield DocumentIssue(place, f"{message}; choose another name")
        first.setdefault(name, place)


def unique_nodes(draft: Draft) -> Iterator[DocumentIssue]:
    """No two kinds of nodes make a node of one name."""
    taken: dict[str, Place] = {}
    for place, pool in draft.pools.items():
        clash = next((name for name in pool.node_names() if name in taken), None)
        if clash:
            line = draft.document.mark(taken[clash]).line
            message = f"node {clash!r} comes already from line {line}"
            yield DocumentIssue(place, f"{message}; give one of them another prefix")
        taken |= dict.fromkeys(pool.node_names(), place)


def order_is_a_permutation(draft: Draft) -> Iterator[DocumentIssue]:
    """`order` names every workload once."""
    order = draft.valid.get("order")
    if order is None or draft.file.instance or not draft.whole("workload"):
        return
    for number, name in enumerate(order):
        if name in order[:number]:
            message = f"workload {name!r} is named twice; keep one"
            yield DocumentIssue(("order", number), message)
    for place, workload in draft.workload.items():
        if workload.name not in order:
            message = f"workload {workload.name!r} is not in `order` and never applied"
            yield DocumentIssue((*place, "name"), f"{message}; add or remove it")


def a_cron_job_has_a_schedule(draft: Draft) -> Iterator[DocumentIssue]:
    """Nobody can guess when its time comes."""
    for place, workload in draft.workload.items():
        if workload.kind == "CronJob" and "schedule" not in workload.spec:
            message = f"CronJob {workload.name!r} has no schedule"
            yield DocumentIssue(place, f"{message}; write it as `spec: {{schedule: ...}}`")


def one_source_of_requests(draft: Draft) -> Iterator[DocumentIssue]:
    """Own containers bring own requests and images."""
    for place, workload in draft.workload.items():
        if "containers" not in workload.pod or place[0] != "workload":
            continue
        item = _data_of(draft)["workload"][place[1]]
        for key in ("cpu", "memory", "requests", "image"):
            if key in item:
                yield DocumentIssue(
                    (*place, key),
                    f"workload {workload.name!r} has its own `pod.containers`; move {key!r} into one of them",
                    of_key=True,
                )


def every_pod_fits(draft: Draft) -> Iterator[DocumentIssue]:
    """Every pod fits on some empty node, unless the scenario says otherwise."""
    whole = draft.whole("nodes", "steps")
    if draft.file.expect.allow_unplaceable or not (whole and draft.pools):
        return
    for place, workload in draft.workload.items():
        sizes = [pool.resources for pool in draft.pools.values()]
        if any(workload.takes.fits(size) for size in sizes):
            continue
        largest = max(sizes, key=lambda size: (size[MEMORY], size[CPU]))
        yield DocumentIssue(
            place,
            f"a pod of workload {workload.name!r} "
            f"({workload.takes.without(PODS)}) is larger than any node "
            f"({largest.without(PODS)}); make it smaller, a node larger, or write "
            "`allow_unplaceable: true` under `expect`",
        )


def steps_name_their_language(draft: Draft) -> Iterator[DocumentIssue]:
    """A scenario with steps says which version of the language it is written in."""
    data = draft.document.data
    if draft.stepped and isinstance(data, dict) and "version" not in data:
        message = "steps belong to version 1 of the language; add `version: 1`"
        yield DocumentIssue(("steps",), message, of_key=True)


def optimiser_is_there(draft: Draft) -> Iterator[DocumentIssue]:
    """What concerns the optimiser needs one."""
    if not draft.stepped:
        return
    releases = list(_list_releases(draft))
    plain = draft.valid.get("scheduler", {})
    for issue in Release.issues(plain):
        yield replace(issue, place=("scheduler", *issue.place))
    if "scheduler" in draft.valid and releases and draft.steps[0].kind == Release.kind:
        message = "the first step releases another; remove one of the two"
        yield DocumentIssue(("scheduler",), message, of_key=True)
    if plain.get("optimizer") or any(one.optimizer for one in releases):
        return
    way_out = "add `scheduler: {profile: optimizer, optimizer: true}`"
    if "optimizer" in draft.valid:
        message = f"the scheduler runs without the optimiser; {way_out}"
        yield DocumentIssue(("optimizer",), message, of_key=True)
    for step in draft.steps:
        if isinstance(step.action, AskForPlan | Pack):
            yield DocumentIssue(step.place(), f"nobody makes plans; {way_out}", of_key=True)


def reservations_are_respected(draft: Draft) -> Iterator[DocumentIssue]:
    """A Reservation needs a scheduler that knows what it is."""
    first = draft.valid.get("scheduler", {}).get("profile", Release().profile)
    profiles = {first, *(one.profile for one in _list_releases(draft))}
    if not profiles.isdisjoint(RESERVING_PROFILES):
        return
    for name, one in draft.objects.items():
        if one.kind == "Reservation":
            known = " or ".join(RESERVING_PROFILES)
            message = f"the scheduler's profile {first} does not know reservations; choose {known}"
            yield DocumentIssue(("objects", name, "kind"), message)


RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    one_source_of_pods,
    unique_workloads,
    unique_nodes,
    order_is_a_permutation,
    a_cron_job_has_a_schedule,
    one_source_of_requests,
    every_pod_fits,
    steps_name_their_language,
    optimiser_is_there,
    reservations_are_respected,
    *EXPECTATION_RULES,
    *NAME_RULES,
    *ORDER_RULES,
)


def _list_releases(draft: Draft) -> Iterator[Release]:
    return actions_of(draft.steps, Release)


def _data_of(draft: Draft) -> Mapping[str, Any]:
    data = draft.document.data
    return data if isinstance(data, Mapping) else {}
