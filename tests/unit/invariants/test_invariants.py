"""Each rule on histories that break it, and on the nearest ones that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from history_builder import HistoryBuilder, took

from stowage_testbed.invariants import check
from stowage_testbed.invariants.check import RULES
from stowage_testbed.invariants.reserved import KEPT_OUT

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


def evicted(builder: HistoryBuilder, **pod: Any) -> HistoryBuilder:
    """Add a pod that is evicted by a plan."""
    return planned(builder.pod("a", "n1", **pod), "a").evict("a")


def annotated(name: str, value: str) -> HistoryChange:
    return lambda builder: evicted(builder, annotations={name: value})


def of_shape(**pod: Any) -> HistoryChange:
    return lambda builder: evicted(builder, **pod)


def budgeted(healthy: int = 1, **spec: Any) -> HistoryChange:
    """Return how the one pod of a budget is evicted."""
    return lambda builder: evicted(builder.budget(healthy, **spec))


def worse(builder: HistoryBuilder) -> HistoryBuilder:
    """Add a pod that runs instead of one of higher priority."""
    builder.pod("high", "n1", priority=9).pod("low", priority=1)
    planned(builder, "high", "low")
    return builder.pod("high", priority=9).pod("low", "n1", priority=1)


def taking_room(
    cpu: str = "2",
    *,
    wait_s: int = 1,
    early: bool = False,
    placed: Sequence[str] = (),
    **pod: Any,
) -> HistoryChange:
    """Return how a pod is bound to a node of 2 CPUs where a plan still needs one.

    It comes some seconds after the plan's beginning, may be seen before that, and has
    no controller unless a kind is given. The room is for those to be placed, or for the
    replacement of a moved pod.
    """
    shape = {"cpu": cpu, "kind": "", **pod}
    moved = () if placed else ("x",)

    def change(builder: HistoryBuilder) -> HistoryBuilder:
        builder.node(cpu="2")
        if early:
            builder.pod("p", **shape)
        builder.plan("p", "Executing", *moved, to="n1", placed=placed).later(wait_s)
        builder.pod("p", **shape).pod("p", "n1", **shape)
        return builder.plan("p", "Completed", *moved, to="n1", placed=placed)

    return change


def holding(
    allocated: str = "", node: str = "n1", phase: str = "Available", **pod: Any
) -> HistoryChange:
    """Return how a reservation on `n1` and a pod that says it took of it are added."""
    return lambda builder: (
        builder.node(node)
        .reservation("r", allocated, phase)
        .pod("a", node, annotations=took("r"), **pod)
    )


def replaced(builder: HistoryBuilder) -> HistoryBuilder:
    """Add a pod that is evicted by a plan, and the next one of its name."""
    planned(builder.pod("web-0", "n1", kind="StatefulSet"), "web-0").evict("web-0")
    builder.gone("Pod", "web-0")
    return builder.pod("web-0", "n1", kind="StatefulSet")


ALLOCATED = "stowage.dev/reservation-allocated"

SOUND: dict[str, HistoryChange] = {
    "a plan that moves a pod": moved,
    "a pod comes once another one has gone": lambda s:
        s.node(cpu="1").pod("a", "n1").gone("Pod", "a").pod("b").pod("b", "n1"),
    "a node shrinks below its pods": lambda s:
        s.node(cpu="2").pod("a", "n1", "2").node(cpu="1"),
    "a pod was on its way to a node when that shrank": lambda s:
        s.node(cpu="2").pod("a", "n1").pod("b").node(cpu="1").pod("b", "n1"),
    "a pod is first seen where there is too little room by now": lambda s:
        s.node(cpu="1").pod("a", "n1").pod("b", "n1").listed_again(),
    "a healthy pod goes and enough are left": lambda s:
        planned(s.budget(1).pod("a", "n1").pod("b", "n1"), "a").evict("a"),
    "a budget that comes once the eviction is granted": lambda s:
        planned(s.pod("a", "n1"), "a").pod("a", "n1", granted=True).budget(1)
        .pod("a", "n1", terminating=True).evict("a"),
    "a pod that opted out of nothing": annotated("stowage.dev/do-not-move", "false"),
    "a pod that came by way of the API":
        annotated("kubernetes.io/config.source", "api"),
    "an eviction that was refused": lambda s:
        s.budget(1).pod("a", "n1").evict("a", code=429),
    "a drain of a pod that has not started": lambda s:
        s.pod("a", "n1", phase="Pending").evict("a", user="admin"),
    "a drain of a pod without a controller": lambda s:
        s.pod("a", "n1", kind="").evict("a", user="admin"),
    "an eviction by somebody else": lambda s: s.pod("a", "n1").evict("a", user="admin"),
    "a pod of a name that was evicted before is in a plan too": lambda s:
        planned(replaced(s), "web-0-2").evict("web-0").gone("Pod", "web-0"),
    "a plan from before the run is continued": lambda s:
        s.pod("a", "n1").plan("p", "Executing", "a").there_before().evict("a")
        .plan("p", "Completed", "a"),
    "an owner that was scaled down": lambda s:
        s.replica_set(2).pod("a", "n1").replica_set(1),
    "fewer of a lower priority for more of a higher one": lambda s:
        planned(s.pod("high", priority=9).pod("low", "n1", priority=1), "high", "low")
        .pod("high", "n1", priority=9).pod("low", priority=1),
    "fewer pods run since a node is gone": lambda s:
        planned(s.node().pod("a", "n1"), "a").gone("Node", "n1").pod("a"),
    "the books of a reservation balance": holding("1"),
    "a pod says in no known way what it took": lambda s:
        s.node().reservation("r")
        .pod("a", "n1", annotations={ALLOCATED: "r"})
        .pod("b", "n1", annotations={ALLOCATED: '["r"]'})
        .pod("c", "n1", annotations={ALLOCATED: "{}"}),
    "another pod says that it took of a reservation": lambda s:
        s.node().reservation("r")
        .pod("a", "n1", annotations=took("r"), labels={"app": "b"})
        .node("n2").pod("b", "n2", annotations=took("r")),
    "another pod comes beside the room of a plan": taking_room("1"),
    "a pod of a higher priority takes the room of a plan": taking_room(priority=1),
    "a pod of the plan comes": taking_room(kind="ReplicaSet"),
    "the very pod of the plan comes": taking_room(placed=["p"]),
    "another pod was on its way when the plan began": taking_room(early=True),
    "another pod comes once the plan's pod is there": lambda s:
        s.node(cpu="3").plan("p", "Executing", "x", to="n1").later(1)
        .pod("y").pod("y", "n1", annotations=took("p"))
        .pod("b", cpu="2", kind="").pod("b", "n1", cpu="2", kind="")
        .plan("p", "Completed", "x", to="n1"),
    "a pod is kept out by room that is held": lambda s:
        s.reservation("r").pod("b", refused=KEPT_OUT).later(6).node(),
    "a pod is about to see that a plan has ended": lambda s:
        s.plan("p", "Executing").plan("p", "Completed")
        .pod("b", refused=KEPT_OUT).later(4).node(),
    "a reservation that has ended reports nothing": holding(phase="Failed"),
    "a dry run rests as a proposal": lambda s:
        s.plan("p", "Proposed", "a", execution_mode="DryRun"),
    "one plan after the other, seen in one list": lambda s:
        s.plan("q", "Executing").plan("q", "Solving").plan("r", "Executing")
        .plan("q", "Aborted").listed_together(2).plan("r", "Completed"),
    "one plan after the other": lambda s:
        s.plan("p", "Executing").plan("p", "Aborted")
        .plan("q", "Solving").plan("q", "NoImprovement"),
}  # fmt: skip
"""Histories that come near to breaking a rule, and break none."""

BROKEN: dict[tuple[str, str], HistoryChange] = {
    ("overcommit", "a pod comes to a full node"): lambda s:
        s.node(cpu="1").pod("a", "n1").pod("b").pod("b", "n1"),
    ("overcommit", "a pod comes to a node that has shrunk"): lambda s:
        s.node(cpu="2").pod("a", "n1").node(cpu="1").pod("b").later(1).pod("b", "n1"),
    ("overcommit", "a pod comes to a full node while nobody watches"): lambda s:
        s.node(cpu="1").pod("a", "n1").pod("b").pod("b", "n1").listed_again(),
    ("budget", "the last healthy pod is evicted"): budgeted(),
    ("budget", "it was there when the eviction was granted"): lambda s:
        planned(s.budget(1).pod("a", "n1"), "a").pod("a", "n1", granted=True).budget(0)
        .pod("a", "n1", terminating=True).evict("a"),
    ("protected", "a pod of a DaemonSet"): of_shape(kind="DaemonSet"),
    ("protected", "a bare pod"): of_shape(kind=""),
    ("protected", "a system-critical pod"): of_shape(priority=2_000_000_000),
    ("protected", "a pod that opted out"): annotated("stowage.dev/do-not-move", "true"),
    ("protected", "a pod that opted out without a value"):
        annotated("stowage.dev/do-not-move", ""),
    ("protected", "a pod that opted out of Karpenter's disruptions"):
        annotated("karpenter.sh/do-not-disrupt", "true"),
    ("protected", "a pod that opted out of the autoscaler's evictions"):
        annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("protected", "a mirror pod"): annotated("kubernetes.io/config.mirror", ""),
    ("protected", "a static pod"): annotated("kubernetes.io/config.source", "file"),
    ("protected", "a pod of an unknown controller"): of_shape(kind="Rollout"),
    ("protected", "a pod with data on its node's disk"):
        of_shape(volumes=[{"name": "v", "hostPath": {"path": "/x"}}]),
    ("protected", "a pod that has not started"): of_shape(phase="Pending"),
    ("protected", "a pod that has finished"): of_shape(phase="Failed"),
    ("planned-eviction", "no plan names the evicted pod"): lambda s:
        planned(s.pod("a", "n1"), "b").evict("a"),
    ("planned-eviction", "the eviction comes before the plan"): lambda s:
        planned(s.pod("a", "n1").evict("a"), "a"),
    ("planned-eviction", "the plan was refused when it was to be stored"): lambda s:
        s.pod("a", "n1").plan("p", "Solving").plan_refused("p").evict("a")
        .plan("p", "Completed", "a"),
    ("planned-eviction", "only an earlier plan of that name was stored"): lambda s:
        planned(s.pod("a", "n1")).gone("PackingPlan", "p").plan("p", "Solving")
        .evict("a").plan("p", "Completed", "a"),
    ("planned-eviction", "a pod whose name was evicted before is in no plan"): lambda s:
        replaced(s).evict("web-0").gone("Pod", "web-0"),
    ("planned-eviction", "its UID tells a pod until its deletion is seen"): lambda s:
        replaced(s).evict("web-0", uid="uid-web-0-2"),
    ("evicted-once", "a pod is evicted twice"): lambda s: evicted(s).evict("a"),
    ("lost-pod", "a replacement never comes"): lambda s:
        s.replica_set(2).pod("a", "n1"),
    ("fewer-placed", "fewer pods of the highest priority run"): worse,
    ("fewer-placed", "fewer than before the first plan of the run"): lambda s:
        worse(s.plan("old", "Completed").there_before().gone("PackingPlan", "old")
              .node().node(cpu="8")),
    ("reservation-books", "more is reported than was taken"): holding("2"),
    ("reservation-books", "what was taken is not reported"): holding(),
    ("reservation-books", "a pod that is no owner is reported"):
        holding("1", labels={"app": "b"}),
    ("reservation-books", "an owner on another node is reported"): holding("1", "n2"),
    ("plan-room-taken", "another pod takes it"): taking_room(),
    ("plan-room-taken", "another pod takes that of one that is to be placed"):
        taking_room(placed=["b"]),
    ("plan-room-taken", "a sibling of another namespace takes it"):
        taking_room(kind="ReplicaSet", namespace="x"),
    ("plan-room-taken", "another pod claims that it arrived by the plan"):
        taking_room(annotations=took("p")),
    ("plan-room-taken", "another pod waits for long and takes it"):
        taking_room(wait_s=31, early=True),
    ("room-left-held", "a pod is kept out by that of a plan that has ended"): lambda s:
        s.plan("p", "Executing").plan("p", "Completed")
        .pod("b", refused=KEPT_OUT).later(6).node(),
    ("one-live-plan", "two plans are live at once"): lambda s:
        s.plan("p", "Executing", "a").plan("q", "Solving")
        .plan("p", "Completed").plan("q", "NoImprovement"),
    ("plan-left-open", "a plan is carried out still"): lambda s:
        s.plan("p", "Executing"),
    ("plan-left-open", "a plan is stored and not begun"): lambda s:
        s.plan("p", "Proposed", "a"),
    ("plan-left-open", "a plan never has its turn"): lambda s: s.plan("p", "Pending"),
}  # fmt: skip
"""Histories that break one rule each, by the rule's name and by what goes wrong."""


@pytest.mark.parametrize(("rule", "name"), BROKEN)
def test_a_history_that_breaks_a_rule_is_found(rule: str, name: str) -> None:
    """A rule that cannot fail shows nothing."""
    found = check(BROKEN[rule, name](HistoryBuilder()).history())

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.in_words().startswith(rule) for violation in found)


@pytest.mark.parametrize("name", SOUND)
def test_a_history_that_only_comes_near_is_not(name: str) -> None:
    """A rule that cries wolf is switched off sooner or later."""
    assert check(SOUND[name](HistoryBuilder()).history()) == []


def test_every_rule_is_shown_to_fail() -> None:
    """A new rule needs its bad history."""
    assert len({rule for rule, _ in BROKEN}) == len(RULES)
