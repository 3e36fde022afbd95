"""Histories that come near to breaking a rule, and break none."""

from __future__ import annotations

from history_builder import took

from histories.changes import (
    HistoryChange,
    annotated,
    beside_a_plan,
    moved,
    planned,
    replaced,
)
from stowage_testbed.invariants.reserved import KEPT_OUT

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
