"""Clusters in a few words, as a verifier is asked about them."""

from __future__ import annotations

from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index
from stowage_testbed.simulate import (
    NO_PROTECTION,
    Instance,
    Question,
    SchedulerVerifier,
)
from tests.differential.draft import own
from tests.differential.plans import recount_tiers

Manifest = dict[str, Any]


def a_node(
    name: str, cpu_milli: int = 1000, labels: dict[str, str] | None = None
) -> Manifest:
    """Return a node with a label ``host``, its name."""
    capacity = {"cpu": f"{cpu_milli}m", "memory": "1Gi", "pods": "10"}
    return {
        "metadata": {"name": name, "labels": {"host": name, **(labels or {})}},
        "spec": {},
        "status": {"capacity": capacity},
    }


def a_pod(
    name: str, cpu_milli: int, *, node: str = "", priority: int = 0, **spec: Any
) -> Manifest:
    """Return a pod of a ReplicaSet of its own; its label ``app`` is its name."""
    requests = {"cpu": f"{cpu_milli}m"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    pod: Manifest = {
        "metadata": {"namespace": "default", "name": name, "labels": {"app": name}},
        "spec": {"containers": [container], "priority": priority, **spec},
        "status": {"phase": "Pending"},
    }
    own(pod, "ReplicaSet", name)
    if node:
        pod["spec"]["nodeName"] = node
        pod["status"] = {"phase": "Running"}
    return pod


def affinity_to(app: str) -> Manifest:
    """Return the affinity to a pod of ``app`` on the same node."""
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": app}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"podAffinity": {required: [term]}}


def figure_1() -> Instance:
    """Return the paper's figure 1, in CPU: 2 and 2 run on two nodes of 4, 3 waits."""
    pods = (
        a_pod("one", 2000, node="n1"),
        a_pod("two", 2000, node="n2"),
        a_pod("three", 3000),
    )
    return Instance("figure-1", (a_node("n1", 4000), a_node("n2", 4000)), pods)


def a_plan(
    *,
    placed: dict[str, str] | None = None,
    moved: dict[str, tuple[str, str]] | None = None,
    evicted: dict[str, str] | None = None,
) -> pb.Plan:
    """Return a plan of pods by name, without a snapshot and an account of itself."""
    plan = pb.Plan()
    for name, node in (placed or {}).items():
        plan.placements.add(pod_uid=f"default/{name}", node=node)
    for name, (start, end) in (moved or {}).items():
        plan.moves.add(pod_uid=f"default/{name}", from_node=start, to_node=end)
    for name, node in (evicted or {}).items():
        plan.evictions.add(pod_uid=f"default/{name}", node=node)
    return plan


def asked_about(
    verifier: SchedulerVerifier,
    instance: Instance,
    plan: pb.Plan,
    policy: pb.Policy = pb.POLICY_STRICT,
) -> Question:
    """Return the question about ``plan``, completed by what a snapshot tells."""
    snapshot = verifier.verify(Question(instance, arguments=NO_PROTECTION)).snapshot
    plan.snapshot_id = snapshot.id
    recount_tiers(plan, snapshot, Index(snapshot))
    return Question(instance, (plan,), policy, arguments=NO_PROTECTION)
