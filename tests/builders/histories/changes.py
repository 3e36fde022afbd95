"""Changes that more than one history contains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from history_builder import HistoryBuilder

HistoryChange = Callable[[HistoryBuilder], HistoryBuilder]


def moved(builder: HistoryBuilder) -> HistoryBuilder:
    """Add a plan that moves one pod, as it should be."""
    builder.node("n1").node("n2").replica_set(1).pod("a", "n1").plan("p", "Solving")
    builder.plan("p", "Proposed", "a").plan("p", "Executing", "a").evict("a")
    builder.pod("a", "n1", terminating=True).pod("b").gone("Pod", "a").pod("b", "n2")
    return builder.plan("p", "Completed", "a")


def planned(builder: HistoryBuilder, *pods: str) -> HistoryBuilder:
    """Store a plan for some pods, and end it."""
    builder.plan("p", "Solving").plan("p", "Proposed", *pods)
    return builder.plan("p", "Completed", *pods)


def annotated(builder: HistoryBuilder, name: str, value: str) -> HistoryBuilder:
    """Add a pod with an annotation, which is evicted by a plan."""
    return planned(builder.pod("a", "n1", annotations={name: value}), "a").evict("a")


def worse(builder: HistoryBuilder) -> HistoryBuilder:
    """Add a pod that runs instead of one of higher priority."""
    builder.pod("high", "n1", priority=9).pod("low", priority=1)
    planned(builder, "high", "low")
    return builder.pod("high", priority=9).pod("low", "n1", priority=1)


def beside_a_plan(
    builder: HistoryBuilder,
    cpu: str,
    *,
    wait_s: int = 1,
    early: bool = False,
    placed: Sequence[str] = (),
    **pod: Any,
) -> HistoryBuilder:
    """Add a pod that is bound to a node of 2 CPUs where a plan still needs one.

    Parameters
    ----------
    cpu
        What the pod takes.
    wait_s
        How long after the plan's beginning it gets its node.
    early
        Whether it is seen before that, and not only then.
    placed
        Who the room is for; left out, it is for the replacement of a moved pod.
    pod
        More about the pod; it has no controller unless a kind is given.
    """
    shape = {"cpu": cpu, "kind": "", **pod}
    moved = () if placed else ("x",)
    builder.node(cpu="2")
    if early:
        builder.pod("p", **shape)
    builder.plan("p", "Executing", *moved, to="n1", placed=placed).later(wait_s)
    builder.pod("p", **shape).pod("p", "n1", **shape)
    return builder.plan("p", "Completed", *moved, to="n1", placed=placed)


def replaced(builder: HistoryBuilder) -> HistoryBuilder:
    """Add a pod that is evicted by a plan, and the next one of its name."""
    planned(builder.pod("web-0", "n1", kind="StatefulSet"), "web-0").evict("web-0")
    builder.gone("Pod", "web-0")
    return builder.pod("web-0", "n1", kind="StatefulSet")
