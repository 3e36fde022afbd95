"""Faults of nodes, of workloads and their budgets, and other pods in their way."""

import threading
from contextlib import suppress
from functools import partial

from benchmarks.faults.context import FaultContext, NothingToHitError
from stowage_testbed.amounts.resources import MEMORY, Resources, parse
from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import make_priority_class
from stowage_testbed.scenario.model import Workload
from stowage_testbed.scenario.steps.nodes import collect_pods

ROLES = ("target", "source", "bystander")
"""The way is which node it is: one that pods come to, one that they leave, or one that the
plan has nothing to do with."""

RESTORED_SHARE = 0.5
"""How often a node becomes what it was when the fault ends; else it stays as it is."""
LEFT_SHARE = 0.6
"""What is left of the memory of a node that shrinks."""
TAINT = {"key": "stowage.dev/fault", "value": "yes", "effect": "NoSchedule"}


def delete_node(context: FaultContext) -> None:
    """Delete the node; when the fault ends its pods go as well."""
    name = context.planned_node(context.way(*ROLES))
    context.objects.delete("Node", name)
    context.on_end(partial(collect_pods, context.run.observer, context.objects, context.namespace, name))


def cordon_node(context: FaultContext) -> None:
    """Cordon the node."""
    _change_node(context, {"unschedulable": True}, {"unschedulable": None})


def taint_node(context: FaultContext) -> None:
    """Give the node a taint that no pod tolerates."""
    _change_node(context, {"taints": [TAINT]}, {"taints": None})


def shrink_node(context: FaultContext) -> None:
    """Take a part of the node's memory away; pods that run stay."""
    name = context.planned_node(context.way(*ROLES))
    whole = context.objects.read("Node", name)["status"]["allocatable"]["memory"]
    left = str(int(parse(MEMORY, whole) * LEFT_SHARE))
    _resize(context, name, left)
    if context.rng.random() < RESTORED_SHARE:
        context.on_end(partial(_resize, context, name, whole))


def _change_node(context: FaultContext, spec: object, back: object) -> None:
    name = context.planned_node(context.way(*ROLES))
    context.objects.patch("Node", name, {"spec": spec})
    if context.rng.random() < RESTORED_SHARE:
        context.on_end(partial(context.objects.patch, "Node", name, {"spec": back}))


def _resize(context: FaultContext, name: str, memory: str) -> None:
    sizes = {"allocatable": {"memory": memory}, "capacity": {"memory": memory}}
    context.objects.patch("Node", name, {"status": sizes}, subresource="status")


NAME = "fault"
SECOND = "fault-too"


def create_budget(context: FaultContext) -> None:
    """Create a budget that allows nothing any more, or two for the same pods.

    No eviction is granted of a pod that two budgets select.
    """
    owner = context.moved_owner()
    names = {"one": (NAME,), "two": (NAME, SECOND)}[context.way("one", "two")]
    for name in names:
        context.create(budget_manifest(name, context.namespace, owner))


def allow_one(context: FaultContext) -> None:
    """Create a budget under which a plan can be carried out, pod by pod."""
    owner = context.scenario.workload[0].name
    context.create(budget_manifest(NAME, context.namespace, owner, max_unavailable=1))


def shrink_budget(context: FaultContext) -> None:
    """Let the budget allow nothing any more."""
    context.objects.patch("PodDisruptionBudget", NAME, {"spec": {"maxUnavailable": 0}}, namespace=context.namespace)


def budget_manifest(name: str, namespace: str, owner: str, *, max_unavailable: int = 0) -> Manifest:
    """Return a disruption budget of a workload's pods."""
    selector = {"matchLabels": {WORKLOAD_LABEL: owner}}
    spec = {"selector": selector, "maxUnavailable": max_unavailable}
    return make_manifest("policy/v1", "PodDisruptionBudget", name, namespace, spec=spec)


def reservation_manifest(name: str, requests: Manifest, owners: list[Manifest], ttl: str = "") -> Manifest:
    """Return a reservation of what one container requests, for its owners' pods."""
    container = {"name": "main", "image": "pause", "resources": {"requests": requests}}
    spec: Manifest = {"template": {"spec": {"containers": [container]}}}
    spec |= {"owners": owners, **({"ttl": ttl} if ttl else {})}
    return make_manifest("stowage.dev/v1alpha1", "Reservation", name, spec=spec)


def delete_waiting(context: FaultContext) -> None:
    """Delete a pod that the plan places, which its ReplicaSet makes again."""
    placements = context.status().get("placements") or ()
    if not placements:
        raise NothingToHitError("placements")
    context.objects.delete("Pod", context.rng.choice(placements)["pod"].partition("/")[2], namespace=context.namespace)


QUOTA = "fault"


def change_owner(context: FaultContext) -> None:
    """Scale a ReplicaSet of which the plan moves a pod, or delete it."""
    owner, namespace = context.moved_owner(), context.namespace
    way = context.way("fewer", "more", "none", "gone")
    if way == "gone":
        context.objects.delete("ReplicaSet", owner, namespace=namespace)
        return
    asked = int(context.objects.read("ReplicaSet", owner, namespace=namespace)["spec"]["replicas"])
    replicas = {"fewer": asked - 1, "more": asked + 1, "none": 0}[way]
    context.objects.patch("ReplicaSet", owner, {"spec": {"replicas": replicas}}, namespace=namespace)


def limit_pods(context: FaultContext) -> None:
    """Let a quota bar every replacement until the fault ends."""
    spec = {"hard": {"pods": "1"}}
    context.create(make_manifest("v1", "ResourceQuota", QUOTA, context.namespace, spec=spec))


HIGHER = 10
FASTEST_PER_S = 50
CHURN_RATE = "churn, changes a second"
"""The fact that says how fast pods came and went."""


def compete(context: FaultContext) -> None:
    """Create rivals for the room that a plan frees, of equal or of higher priority."""
    priority = {"equal": 0, "higher": HIGHER}[context.way("equal", "higher")]
    if priority:
        context.objects.create(make_priority_class(priority), or_keep=True)
    context.apply(Workload("rival", 2, requests=Resources(cpu=100, memory=2 * 10**9), priority=priority))


def churn(context: FaultContext) -> None:
    """Create and delete small pods, at a random rate, until the fault ends."""
    rate_per_s = context.rng.randint(1, FASTEST_PER_S)
    context.facts[CHURN_RATE] = rate_per_s
    over = threading.Event()
    thread = threading.Thread(target=_come_and_go, args=(context, rate_per_s, over), name="churn", daemon=True)

    def end() -> None:
        over.set()
        thread.join()

    context.on_end(end)
    thread.start()


def _come_and_go(context: FaultContext, rate_per_s: int, over: threading.Event) -> None:
    """Create pods without an owner and delete them in turn, and leave none."""
    objects, namespace = context.objects, context.namespace
    number, there = 0, list[str]()
    while not over.wait(1 / rate_per_s):
        if len(there) > number % 3:
            objects.delete("Pod", there.pop(0), namespace=namespace, at_once=True)
            continue
        number += 1
        container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1m", "memory": "1M"}}}
        spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
        with suppress(ApiRefusedError):
            objects.create(make_manifest("v1", "Pod", f"churn-{number}", namespace, spec=spec))
            there.append(f"churn-{number}")
    for name in there:
        objects.delete("Pod", name, namespace=namespace, at_once=True)
