"""Whether what a scenario expects can be expected of it at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import isclose
from typing import Any

from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.issues import DocumentIssue, unknown_name
from stowage_testbed.scenario.steps.demand import most_pods_each
from stowage_testbed.scenario.steps.kinds import replayed_pods, triggered_plans
from stowage_testbed.scenario.steps.measuring import Measure, Overload
from stowage_testbed.scenario.steps.waiting import Check

ROUNDING = 0.05
"""How far a bound may lie from the worst value times the margin."""

_BOUNDED = ("placed", "pods_per_node", "moves", "evictions", "solves")


def expected_workloads_exist(draft: Draft) -> Iterator[DocumentIssue]:
    """An expectation names only workloads that the scenario has."""
    if not _pods_known(draft):
        return
    known = draft.pod_names if draft.stepped else draft.workload_names
    for base, state in _phases(draft):
        for place, name in _workloads_named(base, state):
            if name not in known:
                message = unknown_name("workload", name, known)
                yield DocumentIssue(place, message, of_key=True)


def expected_nodes_exist(draft: Draft) -> Iterator[DocumentIssue]:
    """Placements name only nodes that the scenario has."""
    if not (draft.nodes_whole and draft.steps_whole):
        return
    known = draft.node_names
    for base, state in _phases(draft):
        for name, one in state.get("objects", {}).items():
            if one.get("nodeName", known[0]) not in known:
                place = (*base, "objects", name, "nodeName")
                yield DocumentIssue(place, unknown_name("node", one["nodeName"], known))
        for name, nodes in state.get("placements", {}).items():
            for number, node in enumerate(nodes):
                if node not in known:
                    place = (*base, "placements", name, number)
                    yield DocumentIssue(place, unknown_name("node", node, known))


def expected_objects_exist(draft: Draft) -> Iterator[DocumentIssue]:
    """An expectation names only objects and plans that the scenario has."""
    if not (draft.objects_whole and draft.steps_whole):
        return
    known = [*draft.objects, *triggered_plans(draft.steps)]
    for base, state in _phases(draft):
        for name in state.get("objects", {}):
            if name not in known:
                message = unknown_name("object", name, known)
                yield DocumentIssue((*base, "objects", name), message, of_key=True)


def expected_counts_are_possible(draft: Draft) -> Iterator[DocumentIssue]:
    """No expectation counts more pods than the scenario has."""
    scaled = any(o.kind == "HorizontalPodAutoscaler" for o in draft.objects.values())
    if not _pods_known(draft) or scaled:
        return
    replicas = draft.pods_by_name
    if draft.stepped:
        replicas = most_pods_each([s.action for s in draft.steps], replicas)
    by_priority = Counter(
        str(pod.template.priority) for pod in replayed_pods(draft.steps)
    )
    for workload in draft.workload.values():
        count = replicas.get(workload.name, 0)
        by_priority[str(workload.priority)] += count
    for base, state in _phases(draft):
        for place, whose, count in _counts(base, state):
            have = sum(replicas.values())
            if "placed_by_priority" in place:
                have = by_priority[str(place[-1])]
            elif len(place) > len(base) + 1:
                have = replicas.get(str(place[-1]), count)
            if count > have:
                message = f"{whose} has only {have} pods; expect no more of them"
                yield DocumentIssue(place, message)


def bounds_are_not_empty(draft: Draft) -> Iterator[DocumentIssue]:
    """`min` is not above `max`."""
    for base, state in _phases(draft):
        named = {(*base, key): state[key] for key in _BOUNDED if key in state}
        for priority, bounds in state.get("placed_by_priority", {}).items():
            named[(*base, "placed_by_priority", priority)] = bounds
        for place, bounds in named.items():
            if isinstance(bounds, Mapping) and {"min", "max"} <= set(bounds):
                low, high = bounds["min"], bounds["max"]
                if low > high:
                    message = f"min {low} is above max {high}; exchange them"
                    yield DocumentIssue(place, message)


def metrics_are_measured(draft: Draft) -> Iterator[DocumentIssue]:
    """Bounds on metrics need a measured window."""
    measured = any(isinstance(step.action, Measure | Overload) for step in draft.steps)
    if draft.expect.metrics and draft.steps_whole and not measured:
        message = "no step measures; write `measure: start` and `measure: stop`"
        yield DocumentIssue(("expect", "metrics"), message, of_key=True)


def bounds_bound_something(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound on a metric has an end."""
    for place, bound in _metric_bounds(draft):
        if not {"min", "max"} & set(bound):
            yield DocumentIssue(place, "there is no bound; write `min` or `max`")


def bounds_follow_from_their_origin(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound is the worst value that was seen, times its margin."""
    for place, bound in _metric_bounds(draft):
        low, high = bound["spread"]
        if low > high:
            message = f"the lowest value {low} is above the highest {high}"
            yield DocumentIssue((*place, "spread"), f"{message}; exchange them")
            continue
        margin = bound["margin"]
        for key, worst, should in (
            ("min", low, low / margin),
            ("max", high, high * margin),
        ):
            if key in bound and not isclose(bound[key], should, rel_tol=ROUNDING):
                yield DocumentIssue(
                    (*place, key),
                    f"{key} {bound[key]} does not follow from its origin: the worst "
                    f"value {worst} with margin {margin} gives {should:.4g}; fix "
                    "the one that is wrong",
                )


EXPECTATION_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    expected_workloads_exist,
    expected_nodes_exist,
    expected_objects_exist,
    expected_counts_are_possible,
    bounds_are_not_empty,
    metrics_are_measured,
    bounds_bound_something,
    bounds_follow_from_their_origin,
)


def _phases(draft: Draft) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    expect = draft.valid.get("expect", {})
    for phase in ("deterministic", "optimizer", "end"):
        yield ("expect", phase), expect.get(phase, {})
    for step in draft.steps:
        if isinstance(step.action, Check):
            yield step.place(), draft.valid["steps"][step.number - 1]["check"]


def _pods_known(draft: Draft) -> bool:
    return draft.workload_whole and draft.objects_whole and draft.steps_whole


def _workloads_named(
    base: Place, state: Mapping[str, Any]
) -> Iterator[tuple[Place, str]]:
    for key in ("pending", "placements"):
        for name in state.get(key, {}):
            yield (*base, key, name), name
    for number, group in enumerate(state.get("groups", ())):
        for position, name in enumerate(group):
            yield (*base, "groups", number, position), name
    for name, one in state.get("objects", {}).items():
        for owner in one.get("currentOwners", {}):
            yield (*base, "objects", name, "currentOwners", owner), owner


def _counts(base: Place, state: Mapping[str, Any]) -> Iterator[tuple[Place, str, int]]:
    for name, count in state.get("pending", {}).items():
        yield (*base, "pending", name), f"workload {name!r}", count
    for name, nodes in state.get("placements", {}).items():
        yield (*base, "placements", name), f"workload {name!r}", len(nodes)
    for priority, bounds in state.get("placed_by_priority", {}).items():
        place = (*base, "placed_by_priority", priority)
        yield place, f"priority {priority}", _least(bounds)
    yield (*base, "placed"), "the scenario", _least(state.get("placed", 0))


def _least(bounds: Any) -> int:
    return int(bounds.get("min", 0) if isinstance(bounds, Mapping) else bounds)


def _metric_bounds(draft: Draft) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for name, bound in draft.valid.get("expect", {}).get("metrics", {}).items():
        yield ("expect", "metrics", name), bound
