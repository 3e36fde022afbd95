"""Expectations in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stowage_testbed.quantity import format_cpu, format_memory
from stowage_testbed.scenario.expectations import (
    ExpectedMoment,
    ExpectedObject,
    ExpectedOptimizer,
    ExpectedState,
    MetricBound,
)


def moment_in_words(expect: ExpectedMoment) -> Iterator[str]:
    """Yield a line for each thing that must hold at one moment."""
    yield from plans_in_words(expect.plans)
    for name, one in expect.objects.items():
        yield from _object(name, one)


def plans_in_words(expect: ExpectedOptimizer) -> Iterator[str]:
    """Yield a line for each thing that must hold of pods, nodes and plans."""
    yield from state_in_words(expect.state)
    for noun, bounds in (
        ("pods that plans move", expect.moves),
        ("pods that plans leave unplaced", expect.evictions),
        ("plans", expect.solves),
    ):
        if bounds is not None:
            yield f"{noun}: {bounds}"
    if expect.phases is not None:
        counts = ", ".join(f"{n} {phase}" for phase, n in expect.phases.items() if n)
        yield f"plans by phase: {counts or 'none'}, and no others"
    if expect.optimal is not None:
        yield f"the last plan is {'' if expect.optimal else 'not '}proved optimal"
    for resource, delta in (expect.utilisation_delta or {}).items():
        yield f"utilisation of {resource} changes by {delta:+g}"


def state_in_words(expect: ExpectedState) -> Iterator[str]:
    """Yield a line for each thing that must hold of pods and nodes."""
    if expect.placed is not None:
        yield f"pods with a node: {expect.placed}"
    if expect.pending is not None:
        waiting = {name: count for name, count in expect.pending.items() if count}
        yield f"pods without a node: {_counts(waiting) or 'none'}, and no others"
    for workload, nodes in (expect.placements or {}).items():
        yield f"{workload} is on {', '.join(nodes) or 'no node'}"
    if expect.groups is not None:
        groups = "; ".join(" with ".join(group) for group in expect.groups)
        yield f"on the nodes with pods, whichever they are: {groups}"
    for priority, bounds in (expect.placed_by_priority or {}).items():
        yield f"pods of priority {priority} with a node: {bounds}"
    for resource, share in (expect.utilisation or {}).items():
        yield f"utilisation of {resource}: {share:g}"
    if expect.pods_per_node is not None:
        yield f"pods on every node: {expect.pods_per_node}"


def metric_in_words(name: str, bound: MetricBound) -> str:
    """Return a bound on a metric with its origin."""
    low, high = bound.spread
    return (
        f"{name} is {bound} ({bound.runs} runs gave {low:g} to {high:g}, margin "
        f"{bound.margin:g}; {bound.origin})"
    )


def _object(name: str, expect: ExpectedObject) -> Iterator[str]:
    if not expect.there:
        yield f"there is no {name}"
    if expect.phase is not None:
        yield f"{name} is {expect.phase}"
    if expect.node_name is not None:
        yield f"{name} has node {expect.node_name}"
    if expect.owners is not None:
        yield f"pods that took of {name}: {_counts(expect.owners) or 'none'}"
    if expect.allocated is not None:
        show = {"cpu": format_cpu, "memory": format_memory}
        amounts = (f"{key} {show[key](n)}" for key, n in expect.allocated.items())
        yield f"they took {', '.join(amounts)}"
    for key, value in (expect.status or {}).items():
        yield f"{name} says {key}: {value}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in counts.items())
