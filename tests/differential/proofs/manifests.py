"""A case as the objects of a cluster, as the scheduler reads them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from google.protobuf.json_format import MessageToDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.simulate.instance import NO_PROTECTION, Instance, Question
from tests.differential.clusters import own
from tests.differential.manifests import pod_manifest
from tests.differential.proofs.cases import Case

Manifest = dict[str, Any]

LIMITS = {"max_moves": "maxMoves", "max_evictions": "maxEvictions", "max_disruptions_per_owner": "maxPerWorkload"}
"""Limits of a solve as the plugin's arguments name them."""

POLICIES, ENOUGH = ("IfHealthyBudget", "AlwaysAllow"), 1
"""Of budgets, each of which lets pods go that are not ready: as many are as must be."""

CLAIM = make_manifest(
    "resource.k8s.io/v1",
    "ResourceClaim",
    "gpu",
    "default",
    spec={"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}},
)
"""A claim that is no pod's own: whoever names it has its devices, and no plan moves that pod."""

KEPT: dict[str, Manifest] = {
    "opted-out": {"annotations": {"stowage.dev/do-not-move": "true"}},
    "terminating": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/held"]},
}
"""What the metadata of pods that may not be moved say, by the reason."""


def question_of(case: Case) -> Question:
    """Return the question about a cluster that is the same as the case's snapshot.

    The pods' UIDs are the snapshot's, so that a plan for either is one for both.
    """
    snapshot = case.snapshot
    classes = {one.id: one for one in snapshot.pod_classes}
    first = {pod.class_id: pod for pod in reversed(snapshot.pods)}
    forbidden = [(first[pair.class_id], pair.node) for pair in snapshot.forbidden_pairs if pair.class_id in first]
    # As an argument 0 means any number; the solve has its limits anyhow.
    limits = {name: getattr(case.options, field) for field, name in LIMITS.items()}
    return Question(
        Instance(
            snapshot.id,
            tuple(map(_node, snapshot.nodes)),
            tuple(_pod(snapshot, pod, classes[pod.class_id]) for pod in snapshot.pods),
            (*_owners(snapshot, classes), *_budgets(snapshot)),
        ),
        forbidden=tuple((f"default/{pod.name}", node) for pod, node in forbidden),
        arguments={**NO_PROTECTION, "limits": limits},
    )


def _node(node: pb.Node) -> Manifest:
    metadata = {"name": node.name, "labels": dict(node.labels)}
    offered = {**_requests(node.allocatable), "pods": str(node.allocatable.pods)}
    return {"metadata": metadata, "spec": {}, "status": {"capacity": offered}}


def _requests(resources: pb.Resources) -> dict[str, str]:
    return {"cpu": f"{resources.cpu_milli}m", "memory": str(resources.memory_bytes)}


def _pod(snapshot: pb.Snapshot, pod: pb.Pod, of: pb.PodClass) -> Manifest:
    made = pod_manifest(snapshot, pod)
    made["spec"]["containers"][0]["resources"]["requests"] = _requests(of.requests)
    made["spec"]["priority"] = of.priority
    ready = {"type": "Ready", "status": str(not pod.exempt_from_budget)}
    made["status"] = {"phase": "Running", "conditions": [ready]} if pod.node else {"phase": "Pending"}
    made["metadata"] |= {"uid": pod.uid, **KEPT.get(pod.immovable_reason, {})}
    own(made, of.owner.name)
    return made


def with_unsupported(question: Question, snapshot: pb.Snapshot, seed: int) -> Question:
    """Return the question with the pods of a class that no plan can contain.

    They have a volume that is made for them and goes with them, or name the `CLAIM`.
    """
    classes = sorted({one.class_id for one in snapshot.pods if one.node and one.movable})
    if not classes:
        return question
    chosen = classes[seed % len(classes)]
    of = {pod.uid for pod in snapshot.pods if pod.class_id == chosen}
    change = _with_claim if seed % 2 else _with_ephemeral_volume
    pods = tuple(change(pod) if pod["metadata"]["uid"] in of else pod for pod in question.instance.pods)
    objects = (*question.instance.objects, CLAIM)
    return replace(question, instance=replace(question.instance, pods=pods, objects=objects))


def _with_ephemeral_volume(pod: Mapping[str, Any]) -> Manifest:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
    return {**pod, "spec": {**pod["spec"], "volumes": [volume]}}


def _with_claim(pod: Mapping[str, Any]) -> Manifest:
    return {**pod, "spec": {**pod["spec"], "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}}


def _owners(snapshot: pb.Snapshot, classes: Mapping[str, pb.PodClass]) -> Iterator[Manifest]:
    """Yield the controllers, each with as many pods as it wants."""
    wanted = Counter(classes[pod.class_id].owner.name for pod in snapshot.pods)
    for name, pods in wanted.items():
        spec = {"replicas": pods, "selector": {"matchLabels": {"of": name}}}
        made = make_manifest("apps/v1", "ReplicaSet", name, "default", spec=spec)
        made["metadata"]["uid"] = name
        yield made


def _budgets(snapshot: pb.Snapshot) -> Iterator[Manifest]:
    for number, one in enumerate(snapshot.disruption_budgets):
        policy = POLICIES[number % len(POLICIES)]
        spec = {"selector": MessageToDict(one.selector), "unhealthyPodEvictionPolicy": policy}
        healthy = {"currentHealthy": ENOUGH, "desiredHealthy": ENOUGH}
        status = {"disruptionsAllowed": one.disruptions_allowed, **healthy}
        yield make_manifest("policy/v1", "PodDisruptionBudget", one.name, one.namespace, spec=spec, status=status)
