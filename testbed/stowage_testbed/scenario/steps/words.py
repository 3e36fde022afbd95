"""Steps in plain words, with every default spelt out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.quantity import format_cpu, format_memory
from stowage_testbed.scenario.arrivals.process import (
    RANDOM_DISTRIBUTIONS,
    RANDOM_PROCESSES,
    ArrivalProcess,
    Lifetime,
)
from stowage_testbed.scenario.steps import model

_SHOWN = 6


def in_words(action: model.Action) -> str:
    """Return what a step does, as a person would say it."""
    return _FORMATTERS[type(action)](action)


def pool_in_words(pool: NodePool) -> str:
    """Return a kind of nodes."""
    names = pool.node_names()
    which = names[0] if pool.count == 1 else f"{names[0]} to {names[-1]}"
    text = (
        f"{_count(pool.count, 'node')} ({which}) "
        f"with cpu {format_cpu(pool.cpu_milli)}, "
        f"memory {format_memory(pool.memory_bytes)}, {pool.pods} pods"
    )
    if pool.zones:
        text += f", in turn in zones {', '.join(pool.zones)}"
    for key, value in pool.labels.items():
        text += f", labelled {key}={value}"
    for taint in pool.taints:
        text += f", tainted {taint.key}={taint.value}:{taint.effect}"
    return text


def _apply(step: model.Apply) -> str:
    return f"create {_listed(step.names)}"


def _delete(step: model.Delete) -> str:
    return f"delete {_listed(step.names)}"


def _scale(step: model.Scale) -> str:
    return f"scale {step.workload} to {_count(step.to, 'pod')}"


def _burst(step: model.Burst) -> str:
    pods = f"{_count(step.pods, 'pod')} like {step.workload}'s without controller"
    text = f"create {pods}, {_arrival(step.arrival)}"
    if step.lifetime is None:
        return f"{text}; they run until they are deleted"
    return f"{text}; each runs {_lifetime(step.lifetime)} and is done"


def _arrival(process: ArrivalProcess) -> str:
    if process.process == "at-once":
        return "all as fast as the API server takes them"
    intervals = _INTERVALS[process.process]
    text = f"{process.rate_per_s:g} a second, at {intervals} intervals"
    if process.process == "gamma":
        text += f" (coefficient of variation {process.cv:g})"
    if process.process in RANDOM_PROCESSES:
        text += f", drawn from seed {process.seed}"
    return text


def _lifetime(lifetime: Lifetime) -> str:
    if lifetime.distribution == "constant":
        return f"{lifetime.mean_s:g} s"
    text = f"{lifetime.mean_s:g} s on average ({lifetime.distribution}"
    if lifetime.distribution == "gamma":
        text += f", coefficient of variation {lifetime.cv:g}"
    if lifetime.distribution in RANDOM_DISTRIBUTIONS:
        text += f", drawn from seed {lifetime.seed}"
    return f"{text})"


def _replay(step: model.Replay) -> str:
    owners = len({pod.owner for pod in step.pods})
    last_s = step.pods[-1].at_s if step.pods else 0.0
    speed = "" if step.speed == 1 else f", {step.speed:g} times as fast as recorded"
    text = f"create {_count(len(step.pods), 'pod')} of {_count(owners, 'owner')} when "
    return f"{text}they came in {step.file}{speed}, the last after {last_s:g} s"


def _wait(step: model.Wait) -> str:
    return f"wait until {awaited(step)}"


def awaited(step: model.Wait) -> str:
    """Return what a step waits for."""
    return f"{_state(step)}{_stable(step.stable_s)}"


def _state(step: model.Wait) -> str:
    if step.condition == "phase":
        return f"{_listed(step.of)} is {step.phase}"
    whose = f" of {_listed(step.of)}" if step.of else ""
    if step.condition == "gone":
        return f"no pod{whose} is left"
    one, many = _STATES[step.condition]
    if step.count == 1:
        return f"a pod{whose} {one}"
    pods = "all pods" if step.count is None else f"{step.count} pods"
    return f"{pods}{whose} {many}"


def _evict(step: model.Evict) -> str:
    where = f" on {step.node}" if step.node else ""
    return f"evict {_count(step.pods, 'bound pod')} of {step.workload}{where}"


def _cordon(step: model.Cordon) -> str:
    return f"close {_listed(step.nodes)} for new pods"


def _uncordon(step: model.Uncordon) -> str:
    return f"open {_listed(step.nodes)} for new pods again"


def _taint(step: model.TaintNodes) -> str:
    taint = step.taint
    value = f"={taint.value}" if taint.value else ""
    return f"taint {_listed(step.nodes)} with {taint.key}{value}:{taint.effect}"


def _untaint(step: model.UntaintNodes) -> str:
    effect = f":{step.effect}" if step.effect else ", whatever its effect,"
    return f"take the taint {step.key}{effect} from {_listed(step.nodes)}"


def _add_nodes(step: model.AddNodes) -> str:
    return f"add {pool_in_words(step.pool)}, and wait until they are ready"


def _remove_nodes(step: model.RemoveNodes) -> str:
    return f"remove {_listed(step.nodes)} with their pods, and wait until all are gone"


def _usage(step: model.Usage) -> str:
    parts = []
    if step.cpu_milli is not None:
        parts.append(f"cpu {format_cpu(step.cpu_milli)}")
    if step.memory_bytes is not None:
        parts.append(f"memory {format_memory(step.memory_bytes)}")
    return f"let each pod that {step.workload} has now use {' and '.join(parts)}"


def _trigger(step: model.TriggerPlan) -> str:
    end = "carried out" if step.mode == "Execute" else "made, not carried out"
    limit = "" if step.time_limit_s is None else f", solved in {step.time_limit_s:g} s"
    return f"ask for a plan named {step.plan} that is {end}{limit}"


def _overload(step: model.Overload) -> str:
    settings = step.settings
    find, hold, scaling = settings.find, settings.hold, settings.autoscaling
    text = (
        f"overload a web service of {scaling.min_replicas} to {scaling.max_replicas} "
        f"replicas: add clients from {find.start} to {find.most} by {find.step} every "
        f"{find.level_s:g} s until its p99 is above {settings.sla.p99_s:g} s or its "
        f"errors are above {settings.sla.errors:.3g}, then hold the load for "
        f"{hold.total_s:g} s in windows of {hold.window_s:g} s"
    )
    if not hold.whole:
        text += ", or until it has recovered"
    outcome = step.outcome.replace("_", " ") if step.outcome else ""
    return f"{text}; expected: {outcome}" if outcome else text


def _measure(step: model.Measure) -> str:
    return f"{step.edge} measuring"


def _check(step: model.Check) -> str:
    return f"expect what follows to hold{_stable(step.stable_s)}"


def _stable(seconds: float) -> str:
    return f" and no pod has changed for {seconds:g} s" if seconds else ""


def _listed(names: Sequence[str]) -> str:
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


_INTERVALS = {
    "constant": "equal",
    "uniform": "uniformly drawn",
    "poisson": "exponential (Poisson)",
    "gamma": "gamma-distributed",
}
_STATES = {
    "bound": ("has a node", "have a node"),
    "ready": ("has become ready", "have become ready"),
    "decided": (
        "has a node or is found unschedulable",
        "have a node or are found unschedulable",
    ),
    "refused": ("has been found unschedulable", "have been found unschedulable"),
    "leaving": ("is terminating", "are terminating"),
}
_FORMATTERS: Mapping[type, Callable[[Any], str]] = {
    model.Apply: _apply,
    model.Delete: _delete,
    model.Scale: _scale,
    model.Burst: _burst,
    model.Replay: _replay,
    model.Wait: _wait,
    model.Evict: _evict,
    model.Cordon: _cordon,
    model.Uncordon: _uncordon,
    model.TaintNodes: _taint,
    model.UntaintNodes: _untaint,
    model.AddNodes: _add_nodes,
    model.RemoveNodes: _remove_nodes,
    model.Usage: _usage,
    model.TriggerPlan: _trigger,
    model.Overload: _overload,
    model.Measure: _measure,
    model.Check: _check,
}
