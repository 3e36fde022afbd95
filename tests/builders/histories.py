"""Histories for the rules of what must always hold: sound ones, and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from history_builder import HistoryBuilder, took

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


SOUND: dict[str, HistoryChange] = {
    "a plan that moves a pod": moved,
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
    "a pod was on its way to a node when that shrank": lambda s: (
        s.node(cpu="2").pod("a", "n1").pod("b").node(cpu="1").pod("b", "n1")
    ),
    "a pod is first seen where there is too little room by now": lambda s: (
        s.node(cpu="1").pod("a", "n1").pod("b", "n1").listed_again()
    ),
    "a pod is seen only once it has finished": lambda s: (
        s.node(cpu="2")
        .pod("a", "n1", "2")
        .node(cpu="1")
        .pod("b", "n1", phase="Succeeded")
    ),
    "a healthy pod goes and enough are left": lambda s: planned(
        s.budget(1).pod("a", "n1").pod("b", "n1"), "a"
    ).evict("a"),
    "a budget of others": lambda s: planned(
        s.budget(1, selector={"matchLabels": {"app": "b"}}).pod("a", "n1"), "a"
    ).evict("a"),
    "a budget that selects nobody": lambda s: planned(
        s.budget(1, selector=None).pod("a", "n1"), "a"
    ).evict("a"),
    "a budget that comes once the eviction is granted": lambda s: (
        planned(s.pod("a", "n1"), "a")
        .pod("a", "n1", granted=True)
        .budget(1)
        .pod("a", "n1", terminating=True)
        .evict("a")
    ),
    "a pod that opted out of nothing": lambda s: annotated(
        s, "stowage.dev/do-not-move", "false"
    ),
    "a pod that came by way of the API": lambda s: annotated(
        s, "kubernetes.io/config.source", "api"
    ),
    "an eviction that was refused": lambda s: (
        s.budget(1).pod("a", "n1").evict("a", code=429)
    ),
    "an eviction by somebody else": lambda s: s.pod("a", "n1").evict("a", user="admin"),
    "a pod of a name that was evicted before is in a plan too": lambda s: (
        planned(replaced(s), "web-0-2").evict("web-0").gone("Pod", "web-0")
    ),
    "a plan from before the run is continued": lambda s: (
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
        planned(s.pod("high", priority=9).pod("low", "n1", priority=1), "high", "low")
        .pod("high", "n1", priority=9)
        .pod("low", priority=1)
    ),
    "fewer pods run since a node is gone": lambda s: (
        planned(s.node().pod("a", "n1"), "a").gone("Node", "n1").pod("a")
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
    "another pod says that it took of a reservation": lambda s: (
        s.node()
        .reservation("r")
        .pod("a", "n1", annotations=took("r"), labels={"app": "b"})
        .node("n2")
        .pod("b", "n2", annotations=took("r"))
    ),
    "another pod comes beside the room of a plan": lambda s: beside_a_plan(s, "1"),
    "a pod of a higher priority takes the room of a plan": lambda s: beside_a_plan(
        s, "2", priority=1
    ),
    "a pod of the plan comes": lambda s: beside_a_plan(s, "2", kind="ReplicaSet"),
    "the very pod of the plan comes": lambda s: beside_a_plan(s, "2", placed=["p"]),
    "another pod was on its way when the plan began": lambda s: beside_a_plan(
        s, "2", early=True
    ),
    "another pod comes once the plan's pod is there": lambda s: (
        s.node(cpu="3")
        .plan("p", "Executing", "x", to="n1")
        .later(1)
        .pod("y")
        .pod("y", "n1", annotations=took("p"))
        .pod("b", cpu="2", kind="")
        .pod("b", "n1", cpu="2", kind="")
        .plan("p", "Completed", "x", to="n1")
    ),
    "a pod is kept out by room that is held": lambda s: (
        s.reservation("r").pod("b", refused=KEPT_OUT).later(6).node()
    ),
    "a pod is about to see that a plan has ended": lambda s: (
        s.plan("p", "Executing")
        .plan("p", "Completed")
        .pod("b", refused=KEPT_OUT)
        .later(4)
        .node()
    ),
    "a reservation that has ended reports nothing": lambda s: (
        s.node().reservation("r", phase="Failed").pod("a", "n1", annotations=took("r"))
    ),
    "a dry run rests as a proposal": lambda s: s.plan(
        "p", "Proposed", "a", mode="DryRun"
    ),
    "one plan after the other, seen in one list": lambda s: (
        s.plan("q", "Executing")
        .plan("q", "Solving")
        .plan("r", "Executing")
        .plan("q", "Aborted")
        .listed_together(2)
        .plan("r", "Completed")
    ),
    "one plan after the other": lambda s: (
        s.plan("p", "Executing")
        .plan("p", "Aborted")
        .plan("q", "Solving")
        .plan("q", "NoImprovement")
    ),
}
"""Histories that come near to breaking a rule, and break none."""

BROKEN: dict[str, tuple[str, HistoryChange]] = {
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
        lambda s: (
            s.node(cpu="2")
            .pod("a", "n1")
            .node(cpu="1")
            .pod("b")
            .later(1)
            .pod("b", "n1")
        ),
    ),
    "a pod comes to a full node while nobody watches": (
        "overcommit",
        lambda s: s.node(cpu="1").pod("a", "n1").pod("b").pod("b", "n1").listed_again(),
    ),
    "the last healthy pod is evicted": (
        "budget",
        lambda s: planned(s.budget(1).pod("a", "n1"), "a").evict("a"),
    ),
    "a budget that was there when the eviction was granted is broken": (
        "budget",
        lambda s: (
            planned(s.budget(1).pod("a", "n1"), "a")
            .pod("a", "n1", granted=True)
            .budget(0)
            .pod("a", "n1", terminating=True)
            .evict("a")
        ),
    ),
    "a budget chosen by an expression is broken": (
        "budget",
        lambda s: planned(
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
        lambda s: planned(s.budget(1, selector={}).pod("a", "n1"), "a").evict("a"),
    ),
    "a pod of a DaemonSet is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", kind="DaemonSet"), "a").evict("a"),
    ),
    "a bare pod is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", kind=""), "a").evict("a"),
    ),
    "a system-critical pod is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", priority=2_000_000_000), "a").evict("a"),
    ),
    "a pod that opted out is evicted": (
        "protected",
        lambda s: annotated(s, "stowage.dev/do-not-move", "true"),
    ),
    "a pod that opted out without a value is evicted": (
        "protected",
        lambda s: annotated(s, "stowage.dev/do-not-move", ""),
    ),
    "a pod that opted out of Karpenter's disruptions is evicted": (
        "protected",
        lambda s: annotated(s, "karpenter.sh/do-not-disrupt", "true"),
    ),
    "a pod that opted out of the autoscaler's evictions is evicted": (
        "protected",
        lambda s: annotated(
            s, "cluster-autoscaler.kubernetes.io/safe-to-evict", "false"
        ),
    ),
    "a mirror pod is evicted": (
        "protected",
        lambda s: annotated(s, "kubernetes.io/config.mirror", ""),
    ),
    "a static pod is evicted": (
        "protected",
        lambda s: annotated(s, "kubernetes.io/config.source", "file"),
    ),
    "a pod of an unknown controller is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", kind="Rollout"), "a").evict("a"),
    ),
    "a pod with data on its node's disk is evicted": (
        "protected",
        lambda s: planned(
            s.pod("a", "n1", volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), "a"
        ).evict("a"),
    ),
    "a pod that has not started is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", phase="Pending"), "a").evict("a"),
    ),
    "a pod that has finished is evicted": (
        "protected",
        lambda s: planned(s.pod("a", "n1", phase="Failed"), "a").evict("a"),
    ),
    "no plan names the evicted pod": (
        "planned-eviction",
        lambda s: planned(s.pod("a", "n1"), "b").evict("a"),
    ),
    "the eviction comes before the plan": (
        "planned-eviction",
        lambda s: planned(s.pod("a", "n1").evict("a"), "a"),
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
            planned(s.pod("a", "n1"))
            .gone("PackingPlan", "p")
            .plan("p", "Solving")
            .evict("a")
            .plan("p", "Completed", "a")
        ),
    ),
    "a pod is evicted twice": (
        "evicted-once",
        lambda s: planned(s.pod("a", "n1"), "a").evict("a").evict("a"),
    ),
    "a pod of a name that was evicted before is in no plan": (
        "planned-eviction",
        lambda s: replaced(s).evict("web-0").gone("Pod", "web-0"),
    ),
    "a pod is identified by its UID as long as its deletion is not seen": (
        "planned-eviction",
        lambda s: replaced(s).evict("web-0", uid="uid-web-0-2"),
    ),
    "a replacement never comes": (
        "lost-pod",
        lambda s: s.replica_set(2).pod("a", "n1"),
    ),
    "fewer pods of the highest priority run": ("fewer-placed", worse),
    "fewer pods run than before the first plan of the run": (
        "fewer-placed",
        lambda s: worse(
            s.plan("old", "Completed")
            .there_before()
            .gone("PackingPlan", "old")
            .node()
            .node(cpu="8")
        ),
    ),
    "a reservation reports more than was taken": (
        "reservation-books",
        lambda s: s.node().reservation("r", "2").pod("a", "n1", annotations=took("r")),
    ),
    "a reservation does not report what was taken": (
        "reservation-books",
        lambda s: s.node().reservation("r").pod("a", "n1", annotations=took("r")),
    ),
    "a reservation reports a pod that is no owner": (
        "reservation-books",
        lambda s: (
            s.node()
            .reservation("r", "1")
            .pod("a", "n1", annotations=took("r"), labels={"app": "b"})
        ),
    ),
    "a reservation reports an owner on another node": (
        "reservation-books",
        lambda s: (
            s.node("n2").reservation("r", "1").pod("a", "n2", annotations=took("r"))
        ),
    ),
    "another pod takes the room of a plan": (
        "plan-room-taken",
        lambda s: beside_a_plan(s, "2"),
    ),
    "another pod takes the room of a pod that is to be placed": (
        "plan-room-taken",
        lambda s: beside_a_plan(s, "2", placed=["b"]),
    ),
    "a sibling of another namespace takes the room of a plan": (
        "plan-room-taken",
        lambda s: beside_a_plan(s, "2", kind="ReplicaSet", namespace="x"),
    ),
    "another pod claims that it arrived by the plan": (
        "plan-room-taken",
        lambda s: beside_a_plan(s, "2", annotations=took("p")),
    ),
    "another pod waits for long and takes the room of a plan": (
        "plan-room-taken",
        lambda s: beside_a_plan(s, "2", wait_s=31, early=True),
    ),
    "a pod is kept out by the room of a plan that has ended": (
        "room-left-held",
        lambda s: (
            s.plan("p", "Executing")
            .plan("p", "Completed")
            .pod("b", refused=KEPT_OUT)
            .later(6)
            .node()
        ),
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
"""Histories that break one rule each, by what goes wrong, with the rule's name."""
