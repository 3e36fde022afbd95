"""From plain values that passed the schema to the model's parts.

Every function takes one part of the file and returns one part of the model. Parts that
the schema refused have been taken out before, so that the rest can still be judged.
"""

from __future__ import annotations

from stowage_testbed.resources import CPU, MEMORY, parse_all
from stowage_testbed.scenario.expectations import Plain
from stowage_testbed.scenario.model import (
    CatchItem,
    FaultSettings,
    InstanceSpec,
    OptimizerSettings,
    SchedulerSettings,
    Workload,
)


def workload(plain: Plain) -> Workload:
    """Return a controller."""
    asked = {key: plain[key] for key in (CPU, MEMORY) if key in plain}
    return Workload(
        name=plain["name"],
        replicas=int(plain.get("replicas", 0)),
        requests=parse_all({**plain.get("requests", {}), **asked}),
        kind=plain.get("kind", "ReplicaSet"),
        priority=int(plain.get("priority", 0)),
        image=plain.get("image", "pause"),
        labels=dict(plain.get("labels", {})),
        annotations=dict(plain.get("annotations", {})),
        pod=dict(plain.get("pod", {})),
        ends_in_s=float(plain.get("ends_in_s", 0)),
        controllers=int(plain.get("controllers", 1)),
        spec=dict(plain.get("spec", {})),
        runs_s=None if plain.get("runs_s") is None else float(plain["runs_s"]),
    )


def scheduler_settings(plain: Plain) -> SchedulerSettings:
    """Return the release that places a stepped scenario's pods."""
    return SchedulerSettings(**plain)


def catch_item(plain: str | Plain) -> CatchItem:
    """Return what to collect when something fails."""
    if isinstance(plain, str):
        return CatchItem("events" if plain == "events" else "logs")
    ((what, of),) = plain.items()
    return CatchItem("objects" if what == "objects" else "describe", of)


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
