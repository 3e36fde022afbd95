"""What happens in more than one history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from history_builder import HistoryBuilder

Story = Callable[[HistoryBuilder], HistoryBuilder]


def moved(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a plan that moves one pod, as it should be."""
    story.node("n1").node("n2").replica_set(1).pod("a", "n1").plan("p", "Solving")
    story.plan("p", "Proposed", "a").plan("p", "Executing", "a").evict("a")
    story.pod("a", "n1", terminating=True).pod("b").gone("Pod", "a").pod("b", "n2")
    return story.plan("p", "Completed", "a")


def planned(story: HistoryBuilder, *pods: str) -> HistoryBuilder:
    """Store a plan for some pods, and end it."""
    story.plan("p", "Solving").plan("p", "Proposed", *pods)
    return story.plan("p", "Completed", *pods)


def annotated(story: HistoryBuilder, name: str, value: str) -> HistoryBuilder:
    """Tell of a pod with an annotation, which is evicted by plan."""
    return planned(story.pod("a", "n1", annotations={name: value}), "a").evict("a")


def worse(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a pod that runs in the stead of a more important one."""
    story.pod("high", "n1", priority=9).pod("low", priority=1)
    planned(story, "high", "low")
    return story.pod("high", priority=9).pod("low", "n1", priority=1)


def beside_a_plan(
    story: HistoryBuilder,
    cpu: str,
    *,
    wait_s: int = 1,
    early: bool = False,
    placed: Sequence[str] = (),
    **pod: Any,
) -> HistoryBuilder:
    """Tell of a pod that comes to a node of 2 CPUs where a plan still needs one.

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
    story.node(cpu="2")
    if early:
        story.pod("p", **shape)
    story.plan("p", "Executing", *moved, to="n1", placed=placed).later(wait_s)
    story.pod("p", **shape).pod("p", "n1", **shape)
    return story.plan("p", "Completed", *moved, to="n1", placed=placed)


def replaced(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a pod that is evicted by plan, and of the next one of its name."""
    planned(story.pod("web-0", "n1", kind="StatefulSet"), "web-0").evict("web-0")
    story.gone("Pod", "web-0")
    return story.pod("web-0", "n1", kind="StatefulSet")
