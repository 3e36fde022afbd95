"""Each rule on a history that breaks it, and on the nearest one that does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from history_builder import HistoryBuilder, took

from testbed.invariants import check
from testbed.invariants.check import RULES

Story = Callable[[HistoryBuilder], HistoryBuilder]


def _moved(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a plan that moves one pod, as it should be."""
    story.node("n1").node("n2").replica_set(1).pod("a", "n1").plan("p", "Solving")
    story.plan("p", "Proposed", "a").plan("p", "Executing", "a").evict("a")
    story.pod("a", "n1", terminating=True).pod("b").gone("Pod", "a").pod("b", "n2")
    return story.plan("p", "Completed", "a")


BROKEN: dict[str, tuple[str, Story]] = {
    "a pod comes to a full node": (
        "overcommit",
        lambda s: s.node(cpu="1").pod("a", "n1").pod("b").pod("b", "n1"),
    ),
    "a pod comes while another one terminates": (
        "overcommit",
        lambda s: (
            s.node(cpu="1").pod("a", "n1", terminating=True).pod("b").pod("b", "n1")
        ),
    ),
    "a pod comes to a node that has shrunk": (
        "overcommit",
        lambda s: s.node(cpu="2").pod("a", "n1").node(cpu="1").pod("b").pod("b", "n1"),
    ),
    "a pod comes to a full node while nobody watches": (
        "overcommit",
        lambda s: s.node(cpu="1").pod("a", "n1").pod("b").pod("b", "n1").listed_anew(),
    ),
    "the last healthy pod is evicted": (
        "budget",
        lambda s: _planned(s.budget(1).pod("a", "n1"), "a").evict("a"),
    ),
    "a budget chosen by an expression is broken": (
        "budget",
        lambda s: _planned(
            s.budget(
                1,
                selector={
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["a"]}
                    ]
                },
            ).pod("a", "n1"),
            "a",
        ).evict("a"),
    ),
    "a budget over a whole namespace is broken": (
        "budget",
        lambda s: _planned(s.budget(1, selector={}).pod("a", "n1"), "a").evict("a"),
    ),
    "a pod of a DaemonSet is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", kind="DaemonSet"), "a").evict("a"),
    ),
    "a bare pod is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", kind=""), "a").evict("a"),
    ),
    "a system-critical pod is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", priority=2_000_000_000), "a").evict("a"),
    ),
    "a pod that opted out is evicted": (
        "protected",
        lambda s: _annotated(s, "stowage.dev/do-not-move", "true"),
    ),
    "a pod that opted out without a value is evicted": (
        "protected",
        lambda s: _annotated(s, "stowage.dev/do-not-move", ""),
    ),
    "a pod that opted out of Karpenter's disruptions is evicted": (
        "protected",
        lambda s: _annotated(s, "karpenter.sh/do-not-disrupt", "true"),
    ),
    "a pod that opted out of the autoscaler's evictions is evicted": (
        "protected",
        lambda s: _annotated(
            s, "cluster-autoscaler.kubernetes.io/safe-to-evict", "false"
        ),
    ),
    "a mirror pod is evicted": (
        "protected",
        lambda s: _annotated(s, "kubernetes.io/config.mirror", ""),
    ),
    "a static pod is evicted": (
        "protected",
        lambda s: _annotated(s, "kubernetes.io/config.source", "file"),
    ),
    "a pod of an unknown controller is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", kind="Rollout"), "a").evict("a"),
    ),
    "a pod with data on its node's disk is evicted": (
        "protected",
        lambda s: _planned(
            s.pod("a", "n1", volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), "a"
        ).evict("a"),
    ),
    "a pod that has not started is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", phase="Pending"), "a").evict("a"),
    ),
    "a pod that has finished is evicted": (
        "protected",
        lambda s: _planned(s.pod("a", "n1", phase="Failed"), "a").evict("a"),
    ),
    "no plan names the evicted pod": (
        "planned-eviction",
        lambda s: _planned(s.pod("a", "n1"), "b").evict("a"),
    ),
    "the eviction comes before the plan": (
        "planned-eviction",
        lambda s: _planned(s.pod("a", "n1").evict("a"), "a"),
    ),
    "the plan was refused when it was to be stored": (
        "planned-eviction",
        lambda s: (
            s.pod("a", "n1")
            .plan("p", "Solving")
            .plan_refused("p")
            .evict("a")
            .plan("p", "Completed", "a")
        ),
    ),
    "only an earlier plan of that name was stored": (
        "planned-eviction",
        lambda s: (
            _planned(s.pod("a", "n1"))
            .gone("PackingPlan", "p")
            .plan("p", "Solving")
            .evict("a")
            .plan("p", "Completed", "a")
        ),
    ),
    "a pod is evicted twice": (
        "evicted-once",
        lambda s: _planned(s.pod("a", "n1"), "a").evict("a").evict("a"),
    ),
    "a pod of a name that was evicted before is in no plan": (
        "planned-eviction",
        lambda s: _replaced(s).evict("web-0").gone("Pod", "web-0"),
    ),
    "a pod is told by its UID as long as its deletion is not seen": (
        "planned-eviction",
        lambda s: _replaced(s).evict("web-0", uid="uid-web-0-2"),
    ),
    "a replacement never comes": (
        "lost-pod",
        lambda s: s.replica_set(2).pod("a", "n1"),
    ),
    "fewer pods of the highest priority run": (
        "fewer-placed",
        lambda s: _worse(s.node()),
    ),
    "fewer pods run than before the first plan of the run": (
        "fewer-placed",
        lambda s: _worse(
            s.plan("old", "Completed")
            .there_before()
            .gone("PackingPlan", "old")
            .node()
            .node(cpu="8")
        ),
    ),
    "a reservation tells of more than was taken": (
        "reservation-books",
        lambda s: s.node().reservation("r", "2").pod("a", "n1", annotations=took("r")),
    ),
    "a reservation does not tell what was taken": (
        "reservation-books",
        lambda s: s.node().reservation("r").pod("a", "n1", annotations=took("r")),
    ),
    "a plan leaves a reservation behind": (
        "reservation-leaked",
        lambda s: s.reservation("p-0", plan="p"),
    ),
    "two plans are live at once": (
        "one-live-plan",
        lambda s: (
            s.plan("p", "Executing", "a")
            .plan("q", "Solving")
            .plan("p", "Completed")
            .plan("q", "NoImprovement")
        ),
    ),
    "a plan is left open": ("plan-left-open", lambda s: s.plan("p", "Executing")),
    "a plan is stored and not begun": (
        "plan-left-open",
        lambda s: s.plan("p", "Proposed", "a"),
    ),
    "a plan never has its turn": ("plan-left-open", lambda s: s.plan("p", "Pending")),
}

SOUND: dict[str, Story] = {
    "a plan that moves a pod": _moved,
    "a pod comes once another one has gone": lambda s: (
        s.node(cpu="1").pod("a", "n1").gone("Pod", "a").pod("b").pod("b", "n1")
    ),
    "a pod comes once another one has finished": lambda s: (
        s.node(cpu="1")
        .pod("a", "n1")
        .pod("a", "n1", phase="Succeeded")
        .pod("b")
        .pod("b", "n1")
    ),
    "a node shrinks below its pods": lambda s: (
        s.node(cpu="2").pod("a", "n1", "2").node(cpu="1")
    ),
    "a pod is first seen where there is too little room by now": lambda s: (
        s.node(cpu="1").pod("a", "n1").pod("b", "n1").listed_anew()
    ),
    "a pod is seen only once it has finished": lambda s: (
        s.node(cpu="2")
        .pod("a", "n1", "2")
        .node(cpu="1")
        .pod("b", "n1", phase="Succeeded")
    ),
    "a healthy pod goes and enough are left": lambda s: _planned(
        s.budget(1).pod("a", "n1").pod("b", "n1"), "a"
    ).evict("a"),
    "a budget of others": lambda s: _planned(
        s.budget(1, selector={"matchLabels": {"app": "b"}}).pod("a", "n1"), "a"
    ).evict("a"),
    "a budget that selects nobody": lambda s: _planned(
        s.budget(1, selector=None).pod("a", "n1"), "a"
    ).evict("a"),
    "a pod that opted out of nothing": lambda s: _annotated(
        s, "stowage.dev/do-not-move", "false"
    ),
    "a pod that came by way of the API": lambda s: _annotated(
        s, "kubernetes.io/config.source", "api"
    ),
    "an eviction that was refused": lambda s: (
        s.budget(1).pod("a", "n1").evict("a", code=429)
    ),
    "an eviction by somebody else": lambda s: s.pod("a", "n1").evict("a", user="admin"),
    "a pod of a name that was evicted before is in a plan too": lambda s: (
        _planned(_replaced(s), "web-0-2").evict("web-0").gone("Pod", "web-0")
    ),
    "a plan from before the run is carried on": lambda s: (
        s.pod("a", "n1")
        .plan("p", "Executing", "a")
        .there_before()
        .evict("a")
        .plan("p", "Completed", "a")
    ),
    "an owner that was scaled down": lambda s: (
        s.replica_set(2).pod("a", "n1").replica_set(1)
    ),
    "fewer of a lower priority for more of a higher one": lambda s: (
        _planned(s.pod("high", priority=9).pod("low", "n1", priority=1), "high", "low")
        .pod("high", "n1", priority=9)
        .pod("low", priority=1)
    ),
    "fewer pods run since a node is gone": lambda s: (
        _planned(s.node().pod("a", "n1"), "a").gone("Node", "n1").pod("a")
    ),
    "the books of a reservation balance": lambda s: (
        s.node().reservation("r", "1").pod("a", "n1", annotations=took("r"))
    ),
    "a pod says in no known way what it took": lambda s: (
        s.node()
        .reservation("r")
        .pod("a", "n1", annotations={"stowage.dev/reservation-allocated": "r"})
        .pod("b", "n1", annotations={"stowage.dev/reservation-allocated": '["r"]'})
        .pod("c", "n1", annotations={"stowage.dev/reservation-allocated": "{}"})
    ),
    "a reservation that has ended tells nothing": lambda s: (
        s.node().reservation("r", phase="Failed").pod("a", "n1", annotations=took("r"))
    ),
    "a dry run rests as a proposal": lambda s: s.plan(
        "p", "Proposed", "a", mode="DryRun"
    ),
    "one plan after the other": lambda s: (
        s.plan("p", "Executing")
        .plan("p", "Aborted")
        .plan("q", "Solving")
        .plan("q", "NoImprovement")
    ),
}


def _planned(story: HistoryBuilder, *moved: str) -> HistoryBuilder:
    """Store a plan for some pods, and end it."""
    story.plan("p", "Solving").plan("p", "Proposed", *moved)
    return story.plan("p", "Completed", *moved)


def _annotated(story: HistoryBuilder, name: str, value: str) -> HistoryBuilder:
    """Tell of a pod with an annotation, which is evicted by plan."""
    return _planned(story.pod("a", "n1", annotations={name: value}), "a").evict("a")


def _worse(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a pod that runs in the stead of a more important one."""
    story.pod("high", "n1", priority=9).pod("low", priority=1)
    _planned(story, "high", "low")
    return story.pod("high", priority=9).pod("low", "n1", priority=1)


def _replaced(story: HistoryBuilder) -> HistoryBuilder:
    """Tell of a pod that is evicted by plan, and of the next one of its name."""
    _planned(story.pod("web-0", "n1", kind="StatefulSet"), "web-0").evict("web-0")
    story.gone("Pod", "web-0")
    return story.pod("web-0", "n1", kind="StatefulSet")


@pytest.mark.parametrize("name", BROKEN)
def test_a_history_that_breaks_a_rule_is_found(name: str) -> None:
    """A rule that cannot fail shows nothing."""
    rule, story = BROKEN[name]
    found = check(story(HistoryBuilder()).history())

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.in_words().startswith(rule) for violation in found)


@pytest.mark.parametrize("name", SOUND)
def test_a_history_that_only_comes_near_is_not(name: str) -> None:
    """A rule that cries wolf is switched off sooner or later."""
    assert check(SOUND[name](HistoryBuilder()).history()) == []


def test_every_rule_is_shown_to_fail() -> None:
    """A new rule needs its bad history."""
    broken = {rule for rule, _ in BROKEN.values()}

    assert len(broken) == len(RULES)
