"""Where clusters come from: the generators of the benchmark and of the tests."""

from __future__ import annotations

from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.draft import Draft, own
from stowage_testbed.agreement.manifests import (
    namespace_manifest,
    node_manifest,
    pod_manifest,
)
from stowage_testbed.agreement.related_pods import crowded_pods
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import node_manifests, pod_manifests

NAMESPACE = "default"
MOST_NUMBERS = 2**31
"""Instances of a cell have different numbers, below this."""

CPU_MILLI = range(100, 600, 100)
NODE_CPU_MILLI = range(600, 1600, 100)


def mixed(rng: Random) -> Draft:
    """Return an instance of the benchmark: the paper's, with constraints."""
    cell = Cell(
        nodes=rng.randint(4, 6),
        pods_per_node=rng.randint(3, 5),
        priorities=rng.randint(1, 4),
        usage_percent=rng.choice((95, 105, 115)),
    )
    case = Case(Family.MIX, cell, rng.randrange(MOST_NUMBERS))
    scenario = case.scenario(attempt=0)
    pods = pod_manifests(scenario, NAMESPACE)
    for pod in pods:
        own(pod, "ReplicaSet", pod["metadata"]["labels"][WORKLOAD_LABEL])
    return Draft(node_manifests(scenario), pods)


def related(rng: Random) -> Draft:
    """Return pods that demand things of each other, on nodes with room for some."""
    snapshot = crowded_pods(rng, waiting=rng.randint(6, 12))
    for one in snapshot.pod_classes:
        one.requests.cpu_milli = rng.choice(CPU_MILLI)
    draft = Draft(
        [
            node_manifest(node, rng.choice(NODE_CPU_MILLI), node.allocatable.pods + 2)
            for node in snapshot.nodes
        ],
        [],
        [namespace_manifest(one) for one in snapshot.namespaces],
    )
    for pod in snapshot.pods:
        draft.pods.append(_waiting(snapshot, pod))
    return draft


def _waiting(snapshot: pb.Snapshot, pod: pb.Pod) -> dict[str, object]:
    pod.node = ""
    made = pod_manifest(snapshot, pod)
    (one,) = (found for found in snapshot.pod_classes if found.id == pod.class_id)
    made["spec"]["priority"] = one.priority
    own(made, "ReplicaSet", one.id)
    return made


FAMILIES = (mixed, related)
