"""From plain values that passed the schema to the model's parts.

Every function takes one part of the file and returns one part of the model. Parts that
the schema refused have been taken out before, so that the rest can still be judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testbed.quantity import parse_cpu, parse_memory
from testbed.scenario.model import (
    Bounds,
    Expectations,
    ExpectedOptimizer,
    ExpectedState,
    FaultSettings,
    InstanceSpec,
    NodePool,
    OptimizerSettings,
    Taint,
    Workload,
)

Plain = Mapping[str, Any]


def node_pool(plain: Plain) -> NodePool:
    """Return a kind of nodes."""
    return NodePool(
        name_prefix=plain.get("prefix", "node"),
        count=int(plain["count"]),
        cpu_milli=parse_cpu(plain["cpu"]),
        memory_bytes=parse_memory(plain["memory"]),
        pods=int(plain.get("pods", 110)),
        labels=dict(plain.get("labels", {})),
        taints=tuple(Taint(**taint) for taint in plain.get("taints", ())),
        zones=tuple(plain.get("zones", ())),
    )


def workload(plain: Plain) -> Workload:
    """Return a controller; own containers' requests count as the pod's."""
    pod = dict(plain.get("pod", {}))
    cpu_milli = parse_cpu(plain.get("cpu", 0))
    memory_bytes = parse_memory(plain.get("memory", 0))
    for container in pod.get("containers", ()):
        requests = container.get("resources", {}).get("requests", {})
        cpu_milli += parse_cpu(requests.get("cpu", 0))
        memory_bytes += parse_memory(requests.get("memory", 0))
    return Workload(
        name=plain["name"],
        replicas=int(plain["replicas"]),
        cpu_milli=cpu_milli,
        memory_bytes=memory_bytes,
        kind=plain.get("kind", "ReplicaSet"),
        priority=int(plain.get("priority", 0)),
        image=plain.get("image", "pause"),
        labels=dict(plain.get("labels", {})),
        annotations=dict(plain.get("annotations", {})),
        pod=pod,
    )


def instance_spec(plain: Plain) -> InstanceSpec:
    """Return the parameters of a generated instance."""
    return InstanceSpec(
        seed=int(plain["seed"]),
        nodes=int(plain["nodes"]),
        pods_per_node=int(plain["pods_per_node"]),
        priorities=int(plain["priorities"]),
        usage=float(plain["usage"]),
    )


def optimizer_settings(plain: Plain) -> OptimizerSettings:
    """Return the optimiser's settings; defaults are the model's."""
    numbers = {
        key: float(plain[key]) for key in ("time_limit_s", "settle_s") if key in plain
    }
    return OptimizerSettings(**{**plain, **numbers})


def fault_settings(plain: Plain) -> FaultSettings:
    """Return what goes wrong; defaults are the model's."""
    values = {key: plain[key] for key in plain if key != "with"}
    for key in ("after_s", "lasts_s"):
        if key in plain:
            low, high = plain[key]
            values[key] = (float(low), float(high))
    return FaultSettings(**values, way=plain.get("with", ""))


def expectations(plain: Plain) -> Expectations:
    """Return what must come of the scenario."""
    after = plain.get("optimizer", {})
    return Expectations(
        deterministic=_state(plain.get("deterministic", {})),
        optimizer=ExpectedOptimizer(
            state=_state(after),
            moves=_bounds(after, "moves"),
            evictions=_bounds(after, "evictions"),
            optimal=after.get("optimal"),
            solves=_bounds(after, "solves"),
            utilisation_delta=_shares(after, "utilisation_delta"),
        ),
        tolerance=float(plain.get("tolerance", Expectations().tolerance)),
        allow_unplaceable=plain.get("allow_unplaceable", False),
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
