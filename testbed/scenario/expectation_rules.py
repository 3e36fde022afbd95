"""Whether what a scenario expects can be expected of it at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from testbed.scenario.complaints import Complaint, unknown_name
from testbed.scenario.document import Place
from testbed.scenario.draft import Draft

_BOUNDED = ("placed", "pods_per_node", "moves", "evictions", "solves")


def expected_workloads_exist(draft: Draft) -> Iterator[Complaint]:
    """An expectation names only workloads that the scenario has."""  # noqa: D401 - a rule
    if not draft.workload_whole:
        return
    known = draft.workload_names
    for base, state in _phases(draft):
        for place, name in _workloads_named(base, state):
            if name not in known:
                message = unknown_name("workload", name, known)
                yield Complaint(place, message, of_key=True)


def expected_nodes_exist(draft: Draft) -> Iterator[Complaint]:
    """Placements name only nodes that the scenario has."""
    if not draft.nodes_whole:
        return
    known = draft.node_names
    for base, state in _phases(draft):
        for name, nodes in state.get("placements", {}).items():
            for number, node in enumerate(nodes):
                if node not in known:
                    place = (*base, "placements", name, number)
                    yield Complaint(place, unknown_name("node", node, known))


def expected_counts_are_possible(draft: Draft) -> Iterator[Complaint]:
    """No expectation counts more pods than the scenario has."""
    if not draft.workload_whole:
        return
    replicas = {w.name: w.replicas for w in draft.workload.values()}
    by_priority: Counter[str] = Counter()
    for workload in draft.workload.values():
        by_priority[str(workload.priority)] += workload.replicas
    for base, state in _phases(draft):
        for place, whose, count in _counts(base, state):
            have = sum(replicas.values())
            if "placed_by_priority" in place:
                have = by_priority[str(place[-1])]
            elif len(place) > len(base) + 1:
                have = replicas.get(str(place[-1]), count)
            if count > have:
                message = f"{whose} has only {have} pods; expect no more of them"
                yield Complaint(place, message)


def bounds_are_not_empty(draft: Draft) -> Iterator[Complaint]:
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
                    yield Complaint(place, message)


EXPECTATION_RULES: tuple[Callable[[Draft], Iterator[Complaint]], ...] = (
    expected_workloads_exist,
    expected_nodes_exist,
    expected_counts_are_possible,
    bounds_are_not_empty,
)


def _phases(draft: Draft) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    expect = draft.sound.get("expect", {})
    for phase in ("deterministic", "optimizer"):
        yield ("expect", phase), expect.get(phase, {})


def _workloads_named(
    base: Place, state: Mapping[str, Any]
) -> Iterator[tuple[Place, str]]:
    for key in ("pending", "placements"):
        for name in state.get(key, {}):
            yield (*base, key, name), name
    for number, group in enumerate(state.get("groups", ())):
        for position, name in enumerate(group):
            yield (*base, "groups", number, position), name


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
