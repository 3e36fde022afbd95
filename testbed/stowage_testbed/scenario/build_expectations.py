"""From plain values that passed the schema to what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.quantity import parse_cpu, parse_memory
from stowage_testbed.scenario.expectations import (
    Bounds,
    Expectations,
    ExpectedMoment,
    ExpectedObject,
    ExpectedOptimizer,
    ExpectedState,
    MetricBound,
)

Plain = Mapping[str, Any]


def expectations(plain: Plain) -> Expectations:
    """Return what must come of the scenario."""
    return Expectations(
        deterministic=_state(plain.get("deterministic", {})),
        optimizer=_plans(plain.get("optimizer", {})),
        tolerance=float(plain.get("tolerance", Expectations().tolerance)),
        allow_unplaceable=plain.get("allow_unplaceable", False),
        end=moment(plain.get("end", {})),
        metrics={
            name: _metric_bound(bound)
            for name, bound in plain.get("metrics", {}).items()
        },
    )


def moment(plain: Plain) -> ExpectedMoment:
    """Return what must hold at one moment."""
    objects = {name: _object(one) for name, one in plain.get("objects", {}).items()}
    return ExpectedMoment(_plans(plain), objects)


def _plans(plain: Plain) -> ExpectedOptimizer:
    return ExpectedOptimizer(
        state=_state(plain),
        moves=_bounds(plain, "moves"),
        evictions=_bounds(plain, "evictions"),
        optimal=plain.get("optimal"),
        solves=_bounds(plain, "solves"),
        phases=plain.get("phases"),
        utilisation_delta=_shares(plain, "utilisation_delta"),
    )


def _object(plain: Plain) -> ExpectedObject:
    allocated = plain.get("allocated")
    parse = {"cpu": parse_cpu, "memory": parse_memory}
    return ExpectedObject(
        there=plain.get("there", True),
        phase=plain.get("phase"),
        node_name=plain.get("nodeName"),
        owners=plain.get("currentOwners"),
        allocated=allocated and {key: parse[key](allocated[key]) for key in allocated},
        status=plain.get("status"),
    )


def _metric_bound(plain: Plain) -> MetricBound:
    low, high = plain["spread"]
    return MetricBound(
        origin=plain["origin"],
        runs=int(plain["runs"]),
        spread=(float(low), float(high)),
        margin=float(plain["margin"]),
        minimum=plain.get("min"),
        maximum=plain.get("max"),
    )


def _state(plain: Plain) -> ExpectedState:
    return ExpectedState(
        placed=_bounds(plain, "placed"),
        pending=plain.get("pending"),
        placements=_optional(
            plain,
            "placements",
            lambda nodes: {name: tuple(sorted(nodes[name])) for name in nodes},
        ),
        groups=_optional(
            plain,
            "groups",
            lambda groups: tuple(sorted(tuple(sorted(group)) for group in groups)),
        ),
        placed_by_priority=_optional(
            plain,
            "placed_by_priority",
            lambda placed: {int(key): _bounds(placed, key) for key in placed},
        ),
        utilisation=_shares(plain, "utilisation"),
        pods_per_node=_bounds(plain, "pods_per_node"),
    )


def _optional(plain: Plain, key: str, build: Any) -> Any:
    return build(plain[key]) if key in plain else None


def _bounds(plain: Plain, key: str) -> Bounds | None:
    value = plain.get(key)
    if isinstance(value, Mapping):
        return Bounds(value.get("min"), value.get("max"))
    return None if value is None else Bounds(int(value), int(value))


def _shares(plain: Plain, key: str) -> dict[str, float] | None:
    if key not in plain:
        return None
    return {name: float(share) for name, share in plain[key].items()}
