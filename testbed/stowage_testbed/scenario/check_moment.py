"""What is expected of one moment, or of the measured window, against what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.quantity import format_cpu, format_memory, parse_cpu, parse_memory
from stowage_testbed.scenario.check import (
    CheckResult,
    OptimizerRecord,
    check_plans,
    check_state,
    equal,
)
from stowage_testbed.scenario.expectations import (
    ExpectedMoment,
    ExpectedObject,
    MetricBound,
)

Values = Mapping[str, float | None]
"""By the names of `stowage_testbed.metrics`; None where there is no value."""

NO_NOTES: Mapping[str, str] = {}
NO_PLANS = OptimizerRecord(solves=0, moves=0, evictions=0, optimal=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """What was there at one moment.

    Attributes
    ----------
    objects
        Objects as JSON by the scenario's name for them; one that is not there is left
        out.
    workload_of
        The workload of each pod, by the pod's name.
    """

    state: ClusterState
    plans: OptimizerRecord = NO_PLANS
    objects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workload_of: Mapping[str, str] = field(default_factory=dict)


def check_moment(
    expect: ExpectedMoment, moment: Moment, tolerance: float
) -> Iterator[CheckResult]:
    """Yield a result for each thing that is expected."""
    yield from check_state(expect.state, moment.state, tolerance)
    yield from check_plans(expect.plans, moment.plans)
    for name, wanted in expect.objects.items():
        body = moment.objects.get(name)
        if body is None or not wanted.there:
            there = body is not None
            yield equal(f"{name} is there", wanted.there, there)
        else:
            yield from _object(name, wanted, body, moment.workload_of)


def check_metrics(
    bounds: Mapping[str, MetricBound],
    values: Values,
    notes: Mapping[str, str] = NO_NOTES,
) -> Iterator[CheckResult]:
    """Yield a result for each bound; a metric without a value does not keep it.

    The message says where the bound comes from: if it does not hold, the bound itself
    may be wrong.

    Parameters
    ----------
    bounds, values
        By the metric's name.
    notes
        Why a metric has no value.
    """
    for name, bound in bounds.items():
        value = values.get(name)
        expected, message = str(bound), ""
        if value is None:
            actual = "no value"
            note = notes.get(name) or "there is no value in this window"
            message = f"{name}: {note}"
            if name not in values:
                known = ", ".join(values) or "none"
                message = f"no metric is called {name!r}; known are: {known}"
        else:
            actual = f"{value:g}"
            if not bound.holds(value):
                low, high = bound.spread
                message = (
                    f"{name}: expected {expected}, found {actual}; the bound comes "
                    f"from {bound.runs} runs with {low:g} to {high:g} and a margin of "
                    f"{bound.margin:g} ({bound.origin})"
                )
        yield CheckResult(name, not message, expected, actual, message)


def _object(
    name: str,
    wanted: ExpectedObject,
    body: Mapping[str, Any],
    workload_of: Mapping[str, str],
) -> Iterator[CheckResult]:
    status = body.get("status") or {}
    if wanted.phase is not None:
        yield equal(f"phase of {name}", wanted.phase, status.get("phase", "none"))
    if wanted.node_name is not None:
        node = status.get("nodeName") or (body.get("spec") or {}).get("nodeName")
        yield equal(f"node of {name}", wanted.node_name, node or "none")
    if wanted.owners is not None:
        owners = Counter(
            workload_of.get(str(owner.get("name")), str(owner.get("name")))
            for owner in status.get("currentOwners") or ()
        )
        expected = {owner: count for owner, count in wanted.owners.items() if count}
        yield equal(f"owners of {name}", expected, dict(owners))
    if wanted.allocated is not None:
        expected_amounts = {key: _spell(key, n) for key, n in wanted.allocated.items()}
        found = _amounts(status.get("allocated") or {})
        amounts = {key: _spell(key, found.get(key, 0)) for key in wanted.allocated}
        yield equal(f"allocated of {name}", expected_amounts, amounts)
    for key, value in (wanted.status or {}).items():
        yield equal(f"{key} of {name}", value, status.get(key, "none"))


def _amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    parse = {"cpu": parse_cpu, "memory": parse_memory}
    return {key: parse[key](quantities[key]) for key in parse if key in quantities}


def _spell(resource: str, amount: int) -> str:
    return format_cpu(amount) if resource == "cpu" else format_memory(amount)
