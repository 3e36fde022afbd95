"""Histories that break one rule each, by what goes wrong."""

from __future__ import annotations

from history_builder import took

from histories.changes import (
    HistoryChange,
    annotated,
    beside_a_plan,
    planned,
    replaced,
    worse,
)
from stowage_testbed.invariants.reserved import KEPT_OUT

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
"""With the name of the rule."""
