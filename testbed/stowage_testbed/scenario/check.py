"""Expectations against what happened: every check is a value, none raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from stowage_testbed.metrics.packing import (
    groups,
    not_worse,
    pending_by_workload,
    placed_by_priority,
    placements,
    pods_per_node,
    utilisation,
)
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.scenario.expectations import (
    Bounds,
    ExpectedOptimizer,
    ExpectedState,
)
from stowage_testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One expectation and what was found; ``message`` is empty where it holds."""

    name: str
    passed: bool
    expected: str
    actual: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class OptimizerRecord:
    """What the PackingPlans of one run say.

    ``moves`` and ``evictions`` are summed over the plans, ``solves`` counts them, and
    ``optimal`` is of the last one. ``phases`` counts them by their phase.
    """

    solves: int
    moves: int
    evictions: int
    optimal: bool
    phases: Mapping[str, int] = field(default_factory=dict)


def check_deterministic(
    scenario: Scenario, before: ClusterState
) -> tuple[CheckResult, ...]:
    """Check `expect.deterministic` against the settled state before the optimiser."""
    expect = scenario.expect
    return tuple(check_state(expect.deterministic, before, expect.tolerance))


def check_optimizer(
    scenario: Scenario,
    before: ClusterState,
    after: ClusterState,
    record: OptimizerRecord,
) -> tuple[CheckResult, ...]:
    """Check `expect.optimizer`, and always that the result is not worse than before.

    Not worse means: placed by priority, compared from the highest priority down.
    """
    expect = scenario.expect.optimizer
    tolerance = scenario.expect.tolerance
    results = list(check_state(expect.state, after, tolerance))
    results += check_plans(expect, record)
    if expect.utilisation_delta is not None:
        was, now = utilisation(before), utilisation(after)
        delta = {resource: now[resource] - was[resource] for resource in now}
        results += _close(
            "utilisation_delta", expect.utilisation_delta, delta, tolerance
        )
    results.append(_not_worse(before, after))
    return tuple(results)


def check_plans(
    expect: ExpectedOptimizer, record: OptimizerRecord
) -> Iterator[CheckResult]:
    """Yield a result for each figure of the plans that is asked for."""
    for name, bounds, count in (
        ("moves", expect.moves, record.moves),
        ("evictions", expect.evictions, record.evictions),
        ("solves", expect.solves, record.solves),
    ):
        if bounds is not None:
            yield _in_bounds(name, bounds, count)
    if expect.phases is not None:
        phases = {phase: count for phase, count in expect.phases.items() if count}
        yield equal("phases of plans", phases, dict(record.phases))
    if expect.optimal is not None:
        yield equal("optimal", expect.optimal, record.optimal)


def check_state(
    expect: ExpectedState, state: ClusterState, tolerance: float
) -> Iterator[CheckResult]:
    """Yield a result for each figure of a settled state that is asked for."""
    if expect.placed is not None:
        yield _in_bounds("placed", expect.placed, len(state.bound))
    if expect.pending is not None:
        wanted = {name: count for name, count in expect.pending.items() if count}
        yield equal("pending", wanted, pending_by_workload(state))
    if expect.placements is not None:
        found = placements(state)
        for workload, nodes in expect.placements.items():
            name = f"placements of {workload}"
            yield equal(name, list(nodes), list(found.get(workload, ())))
    if expect.groups is not None:
        yield equal(
            "groups",
            [list(group) for group in expect.groups],
            [list(group) for group in groups(state)],
        )
    if expect.placed_by_priority is not None:
        found_placed = placed_by_priority(state)
        for priority, bounds in expect.placed_by_priority.items():
            count = found_placed.get(priority, 0)
            yield _in_bounds(f"placed of priority {priority}", bounds, count)
    if expect.utilisation is not None:
        yield from _close(
            "utilisation", expect.utilisation, utilisation(state), tolerance
        )
    if expect.pods_per_node is not None:
        yield _every_node(expect.pods_per_node, state)


def equal(name: str, expected: object, actual: object) -> CheckResult:
    """Return the result of comparing two values."""
    return _result(name, expected == actual, _show(expected), _show(actual))


def _in_bounds(name: str, bounds: Bounds, actual: int) -> CheckResult:
    return _result(name, bounds.holds(actual), str(bounds), str(actual))


def _close(
    name: str,
    expected: Mapping[str, float],
    actual: Mapping[str, Fraction],
    tolerance: float,
) -> Iterator[CheckResult]:
    allowed = Fraction(str(tolerance))
    for resource, share in expected.items():
        near = abs(actual[resource] - Fraction(str(share))) <= allowed
        shown = f"{float(actual[resource]):.6g}"
        yield _result(f"{name} of {resource}", near, f"{share:.6g}", shown)


def _every_node(bounds: Bounds, state: ClusterState) -> CheckResult:
    counts = pods_per_node(state)
    astray = {node: count for node, count in counts.items() if not bounds.holds(count)}
    low, high = min(counts.values(), default=0), max(counts.values(), default=0)
    actual = str(low) if low == high else f"{low} to {high}"
    if astray:
        actual += f" {_show(astray)}"
    return _result("pods_per_node", not astray, str(bounds), actual)


def _not_worse(before: ClusterState, after: ClusterState) -> CheckResult:
    was, now = placed_by_priority(before), placed_by_priority(after)
    expected = f"at least {_show(was)}"
    return _result("not_worse", not_worse(was, now), expected, _show(now))


def _result(name: str, passed: bool, expected: str, actual: str) -> CheckResult:
    message = "" if passed else f"{name}: expected {expected}, found {actual}"
    return CheckResult(name, passed, expected, actual, message)


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        parts = sorted((str(key), str(inner)) for key, inner in value.items())
        return "{" + ", ".join(f"{key}: {inner}" for key, inner in parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
