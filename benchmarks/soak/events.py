"""What happens in a turn: ordinary things, and the faults of `benchmarks.faults`.

Each is drawn at random, and registers with the fault context what ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from benchmarks.faults.context import FaultContext
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.workloads import budget_manifest, reservation_manifest
from benchmarks.soak.cluster import HIGH, NAMESPACE, SoakCluster
from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.cluster.metrics_server.objects import USAGE, usage_object
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.manual_plan import make_manual_plan
from stowage_testbed.scenario.manifests import make_bare_pod
from stowage_testbed.scenario.model import Workload

BURST = 100
LIFETIME_S = 2.0
TINY = Workload("tiny", 0, Resources(cpu=1, memory=1 << 20))
MOST_USED_MILLI = 200

Event = Callable[[SoakCluster, FaultContext], None]


def burst(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Let short tasks come all at once; what is left of them goes in the end."""
    objects = soak_cluster.run.objects
    for _ in range(BURST):
        name = soak_cluster.fresh_name(TINY.name)
        objects.create(make_bare_pod(TINY, name, NAMESPACE, LIFETIME_S))
        context.on_end(partial(objects.delete, "Pod", name, namespace=NAMESPACE))


def priority(soak_cluster: SoakCluster, _fault_context: FaultContext) -> None:
    """Let large pods of a high priority come."""
    name = soak_cluster.fresh_name("urgent")
    soak_cluster.apply(soak_cluster.large(name, replicas=2, priority=HIGH))


def drain(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Close a node and evict its pods, as far as budgets let them go."""
    name = context.rng.choice(soak_cluster.environment.nodes)
    soak_cluster.run.objects.patch("Node", name, {"spec": {"unschedulable": True}})
    pods = soak_cluster.run.observer.read(lambda state: state.pods(NAMESPACE))
    for pod in pods:
        if pod.node == name:
            try:
                soak_cluster.run.objects.evict(
                    pod.name, namespace=NAMESPACE, uid=pod.uid
                )
            except ApiRefusedError:
                continue  # a budget, or it has gone by itself


def lose_node(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Take a node away; its pods go when the turn's trouble ends."""
    name = context.rng.choice(soak_cluster.environment.nodes)
    soak_cluster.run.objects.delete("Node", name)
    context.on_end(partial(collect_pods, soak_cluster.run, NAMESPACE, name))


def budget(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Forbid any disruption of a workload for a while."""
    owner = context.rng.choice(soak_cluster.steady).name
    name = soak_cluster.fresh_name("budget")
    objects = soak_cluster.run.objects
    objects.create(budget_manifest(name, NAMESPACE, owner))
    delete = partial(objects.delete, "PodDisruptionBudget", name)
    context.on_end(partial(delete, namespace=NAMESPACE))


def load(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Change what the service's pods use; the autoscaler sees it."""
    used = {NAMESPACE: context.rng.randrange(MOST_USED_MILLI)}
    spec = usage_object(used)["spec"]
    soak_cluster.run.objects.patch("ClusterResourceUsage", USAGE, {"spec": spec})


def reserve(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Reserve room for a workload that may grow."""
    owner = context.rng.choice(soak_cluster.steady).name
    owners = [{"labelSelector": {"matchLabels": {WORKLOAD_LABEL: owner}}}]
    name, requests = soak_cluster.fresh_name("reserved"), {"cpu": "1", "memory": "1Gi"}
    soak_cluster.run.objects.create(
        reservation_manifest(name, requests, owners, ttl="60s")
    )


def ask_for_plan(soak_cluster: SoakCluster, context: FaultContext) -> None:
    """Ask for a plan, as a user does."""
    execution_mode = context.rng.choice(("Execute", "DryRun"))
    metadata = {"name": soak_cluster.fresh_name("asked")}
    soak_cluster.run.objects.create(
        make_manual_plan(metadata, time_limit_s=1, execution_mode=execution_mode)
    )


ORDINARY: Mapping[str, Event] = {
    "burst": burst,
    "priority": priority,
    "drain": drain,
    "lose-node": lose_node,
    "budget": budget,
    "load": load,
    "reserve": reserve,
    "ask-for-plan": ask_for_plan,
}

NEEDS_ITS_OWN = frozenset(
    {
        "create-odd-objects",
        "fill-etcd",
        "forge",
        "lie",
        "nothing",
        "refuse-writes",
        "shrink-budget",
        "slow-api-server",
    }
)
"""Faults that need another release or API server, change nothing, or a cluster of their
own; and one that fills etcd, whose growth is one of the figures."""

FAULTS = tuple(name for name in KINDS if name not in NEEDS_ITS_OWN)
ENDING = frozenset(
    {"freeze-leader", "kill-optimizer", "kill-scheduler", "restart-api-server"}
)
"""Faults after which another process serves: what the old one leaked went with it. A
leader that has lost its lease ends by itself."""

LASTING = tuple(name for name in FAULTS if name not in ENDING)
