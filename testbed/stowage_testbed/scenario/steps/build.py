"""From a step's plain values, which passed the schema, to what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stowage_testbed.cluster.node_pool import Taint
from stowage_testbed.quantity import parse_cpu, parse_memory
from stowage_testbed.scenario import build, build_expectations
from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.arrivals.trace import TraceRow, replayed
from stowage_testbed.scenario.steps.model import (
    Action,
    AddNodes,
    Apply,
    Burst,
    Check,
    Cordon,
    Delete,
    Evict,
    Measure,
    Overload,
    RemoveNodes,
    Replay,
    Scale,
    TaintNodes,
    TriggerPlan,
    Uncordon,
    UntaintNodes,
    Usage,
    Wait,
)

ALL = "all"
"""In the place of names: every workload."""

Traces = Mapping[str, Sequence[TraceRow]]
"""Rows of the trace files that a scenario names, by the name it gives them."""


def action(kind: str, plain: Any, workload: Sequence[str], traces: Traces) -> Action:
    """Return what a step does.

    Parameters
    ----------
    kind, plain
        The step's key, and what stands there.
    workload
        The names that ``all`` stands for.
    traces
        The traces that could be read; those of one that could not are no pods.
    """
    if kind == "apply":
        return Apply(tuple(workload) if plain == ALL else _names(plain))
    if kind == "replay":
        return _replay(plain, traces)
    return _BUILDERS[kind](plain)


def _names(plain: Any) -> tuple[str, ...]:
    return (plain,) if isinstance(plain, str) else tuple(plain)


def _replay(plain: Mapping[str, Any], traces: Traces) -> Replay:
    file, speed, limit = plain["file"], float(plain.get("speed", 1)), plain.get("limit")
    pods = replayed(traces.get(file, ()), speed=speed, limit=limit)
    return Replay(file, pods, speed, limit)


def _burst(plain: Mapping[str, Any]) -> Burst:
    lifetime = plain.get("lifetime")
    return Burst(
        plain["workload"],
        int(plain["pods"]),
        ArrivalProcess(**plain.get("arrival", {})),
        Lifetime(**lifetime) if lifetime else None,
    )


def _wait(plain: Mapping[str, Any]) -> Wait:
    return Wait(
        condition=plain["for"],
        of=_names(plain.get("of", ())),
        count=plain.get("count"),
        phase=plain.get("is", ""),
        stable_s=float(plain.get("stable_s", 0)),
        timeout_s=plain.get("timeout_s"),
    )


def _taint(plain: Mapping[str, Any]) -> TaintNodes:
    taint = Taint(plain["key"], plain["effect"], plain.get("value", ""))
    return TaintNodes(_names(plain["nodes"]), taint)


def _untaint(plain: Mapping[str, Any]) -> UntaintNodes:
    return UntaintNodes(_names(plain["nodes"]), plain["key"], plain.get("effect", ""))


def _usage(plain: Mapping[str, Any]) -> Usage:
    return Usage(
        plain["workload"],
        parse_cpu(plain["cpu"]) if "cpu" in plain else None,
        parse_memory(plain["memory"]) if "memory" in plain else None,
    )


def _overload(plain: Mapping[str, Any]) -> Overload:
    settings = {key: value for key, value in plain.items() if key != "outcome"}
    return Overload(settings, plain.get("outcome"))


def _check(plain: Mapping[str, Any]) -> Check:
    return Check(
        build_expectations.moment(plain),
        stable_s=float(plain.get("stable_s", 0)),
        timeout_s=plain.get("timeout_s"),
    )


_BUILDERS: Mapping[str, Callable[[Any], Action]] = {
    "add-nodes": lambda plain: AddNodes(build.node_pool(plain)),
    "burst": _burst,
    "check": _check,
    "cordon": lambda plain: Cordon(_names(plain)),
    "delete": lambda plain: Delete(_names(plain)),
    "evict": lambda plain: Evict(**plain),
    "measure": Measure,
    "overload": _overload,
    "remove-nodes": lambda plain: RemoveNodes(_names(plain)),
    "scale": lambda plain: Scale(plain["workload"], int(plain["to"])),
    "taint": _taint,
    "trigger": lambda plain: TriggerPlan(**plain),
    "uncordon": lambda plain: Uncordon(_names(plain)),
    "untaint": _untaint,
    "usage": _usage,
    "wait": _wait,
}
