"""Whether what a scenario expects can be expected of it at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from math import isclose
from typing import Any

from stowage_testbed.amounts.resources import names_of
from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import BRINGING, Draft
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.demand import count_most_pods_each
from stowage_testbed.scenario.steps.kinds import list_replayed_pods
from stowage_testbed.scenario.steps.measuring import Measure, Overload

ROUNDING = 0.05
"""How far a bound may lie from the worst value times the margin."""

_BOUNDED = ("placed", "pods_per_node", "moves", "evictions", "solves")


def expected_counts_are_possible(draft: Draft) -> Iterator[DocumentIssue]:
    """No expectation counts more pods than the scenario has."""
    scaled = any(o.kind == "HorizontalPodAutoscaler" for o in draft.objects.values())
    if not draft.whole(*BRINGING) or scaled:
        return
    replicas = draft.pods_by_name
    if draft.stepped:
        replicas = count_most_pods_each([s.action for s in draft.steps], replicas)
    by_priority = Counter(str(pod.template.priority) for pod in list_replayed_pods(draft.steps))
    for workload in draft.workload.values():
        count = replicas.get(workload.name, 0)
        by_priority[str(workload.priority)] += count
    for base, state in draft.moments:
        for place, whose, count in _list_counts(base, state):
            have = sum(replicas.values())
            if "placed_by_priority" in place:
                have = by_priority[str(place[-1])]
            elif len(place) > len(base) + 1:
                have = replicas.get(str(place[-1]), count)
            if count > have:
                message = f"{whose} has only {have} pods; expect no more of them"
                yield DocumentIssue(place, message)


def utilised_resources_are_there(draft: Draft) -> Iterator[DocumentIssue]:
    """Utilisation is expected of resources that some node has."""
    if not draft.whole("nodes", "steps"):
        return
    known = names_of(pool.resources for pool in draft.pools.values())
    for base, state in draft.moments:
        for key in ("utilisation", "utilisation_delta"):
            for name in state.get(key, ()):
                if name not in known:
                    message = f"no node has {name!r}; known are {', '.join(known)}"
                    yield DocumentIssue((*base, key, name), message, of_key=True)


def bounds_are_not_empty(draft: Draft) -> Iterator[DocumentIssue]:
    """`min` is not above `max`."""
    for base, state in draft.moments:
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
    if draft.file.expect.metrics and draft.whole("steps") and not measured:
        message = "no step measures; write `measure: start` and `measure: stop`"
        yield DocumentIssue(("expect", "metrics"), message, of_key=True)


def bounds_bound_something(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound on a metric has an end."""
    for place, bound in _list_metric_bounds(draft):
        if not {"min", "max"} & set(bound):
            yield DocumentIssue(place, "there is no bound; write `min` or `max`")


def bounds_follow_from_their_origin(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound is the worst value that was seen, times its margin."""
    for place, bound in _list_metric_bounds(draft):
        low, high = bound["spread"]
        if low > high:
            message = f"the lowest value {low} is above the highest {high}"
            yield DocumentIssue((*place, "spread"), f"{message}; exchange them")
            continue
        margin = bound["margin"]
        for key, worst, should in (("min", low, low / margin), ("max", high, high * margin)):
            if key in bound and not isclose(bound[key], should, rel_tol=ROUNDING):
                yield DocumentIssue(
                    (*place, key),
                    f"{key} {bound[key]} does not follow from its origin: the worst "
                    f"value {worst} with margin {margin} gives {should:.4g}; fix "
                    "the one that is wrong",
                )


EXPECTATION_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    expected_counts_are_possible,
    utilised_resources_are_there,
    bounds_are_not_empty,
    metrics_are_measured,
    bounds_bound_something,
    bounds_follow_from_their_origin,
)


def _list_counts(base: Place, state: Mapping[str, Any]) -> Iterator[tuple[Place, str, int]]:
    for name, count in state.get("pending", {}).items():
        yield (*base, "pending", name), f"workload {name!r}", count
    for name, nodes in state.get("placements", {}).items():
        yield (*base, "placements", name), f"workload {name!r}", len(nodes)
    for priority, bounds in state.get("placed_by_priority", {}).items():
        place = (*base, "placed_by_priority", priority)
        yield place, f"priority {priority}", _least_of(bounds)
    yield (*base, "placed"), "the scenario", _least_of(state.get("placed", 0))


def _least_of(bounds: Any) -> int:
    return int(bounds.get("min", 0) if isinstance(bounds, Mapping) else bounds)


def _list_metric_bounds(draft: Draft) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for name, bound in draft.valid.get("expect", {}).get("metrics", {}).items():
        yield ("expect", "metrics", name), bound
