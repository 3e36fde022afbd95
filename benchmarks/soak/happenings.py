"""What happens in a turn: ordinary things, and the faults of `scenarios/faults`.

Each is drawn, strikes the world, and leaves with the ground what ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from benchmarks.soak.world import HIGH, LARGE, NAMESPACE, World
from stowage_testbed.cluster.metrics.usage import NAME as USAGE
from stowage_testbed.cluster.metrics.usage import usage_object
from stowage_testbed.faults.ground import Ground
from stowage_testbed.faults.kinds import KINDS
from stowage_testbed.run.errors import ApiRefusedError
from stowage_testbed.run.manual_plan import manual_plan
from stowage_testbed.run.orphans import collect_pods
from stowage_testbed.scenario.manifests import WORKLOAD_LABEL, bare_pod_manifest
from stowage_testbed.scenario.model import Workload

BURST = 100
LIFETIME_S = 2.0
TINY = Workload("tiny", 0, cpu_milli=1, memory_bytes=1 << 20)
MOST_USED_MILLI = 200

Happening = Callable[[World, Ground], None]


def burst(world: World, ground: Ground) -> None:
    """Let short tasks come all at once; what is left of them goes in the end."""
    objects = world.bench.objects
    for _ in range(BURST):
        name = world.fresh_name(TINY.name)
        objects.create(bare_pod_manifest(TINY, name, NAMESPACE, LIFETIME_S))
        ground.mend_with(partial(objects.delete, "Pod", name, namespace=NAMESPACE))


def priority(world: World, _ground: Ground) -> None:
    """Let large pods of a high priority come."""
    name = world.fresh_name("urgent")
    world.apply(replace(LARGE, name=name, replicas=2, priority=HIGH))


def drain(world: World, ground: Ground) -> None:
    """Close a node and evict its pods, as far as budgets let them go."""
    name = ground.chance.choice(world.site.nodes)
    world.bench.objects.patch("Node", name, {"spec": {"unschedulable": True}})
    pods = world.bench.observer.read(lambda state: state.pods(NAMESPACE))
    for pod in pods:
        if pod.node == name:
            try:
                world.bench.objects.evict(pod.name, namespace=NAMESPACE, uid=pod.uid)
            except ApiRefusedError:
                continue  # a budget, or it has gone by itself


def lose_node(world: World, ground: Ground) -> None:
    """Take a node away; its pods go when the turn's trouble ends."""
    name = ground.chance.choice(world.site.nodes)
    world.bench.objects.delete("Node", name)
    ground.mend_with(partial(collect_pods, world.bench, NAMESPACE, name))


def budget(world: World, ground: Ground) -> None:
    """Forbid any disruption of a workload for a while."""
    owner = ground.chance.choice(world.steady).name
    name = world.fresh_name("budget")
    selector = {"matchLabels": {WORKLOAD_LABEL: owner}}
    world.bench.objects.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"maxUnavailable": 0, "selector": selector},
        }
    )
    ground.mend_with(
        partial(
            world.bench.objects.delete,
            "PodDisruptionBudget",
            name,
            namespace=NAMESPACE,
        )
    )


def load(world: World, ground: Ground) -> None:
    """Change what the service's pods use; the autoscaler sees it."""
    used = {NAMESPACE: ground.chance.randrange(MOST_USED_MILLI)}
    spec = usage_object(used)["spec"]
    world.bench.objects.patch("ClusterResourceUsage", USAGE, {"spec": spec})


def reserve(world: World, ground: Ground) -> None:
    """Reserve room for a workload that may grow."""
    owner = ground.chance.choice(world.steady).name
    requests = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "c", "image": "pause", "resources": {"requests": requests}}
    world.bench.objects.create(
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "Reservation",
            "metadata": {"name": world.fresh_name("reserved")},
            "spec": {
                "template": {"spec": {"containers": [container]}},
                "owners": [{"labelSelector": {"matchLabels": {WORKLOAD_LABEL: owner}}}],
                "ttl": "60s",
            },
        }
    )


def ask_for_plan(world: World, ground: Ground) -> None:
    """Ask for a plan, as a user does."""
    mode = ground.chance.choice(("Execute", "DryRun"))
    metadata = {"name": world.fresh_name("asked")}
    world.bench.objects.create(manual_plan(metadata, time_limit_s=1, mode=mode))


ORDINARY: Mapping[str, Happening] = {
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
"""Faults that need another release or API server, change nothing, or a world of their
own; and one that does to etcd what nobody may who looks for what grows there."""

FAULTS = tuple(name for name in KINDS if name not in NEEDS_ITS_OWN)
