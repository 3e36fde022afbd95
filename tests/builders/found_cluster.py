"""A cluster's objects as kubectl prints them, for tests of what is made of them."""

from typing import Any

from stowage_testbed.capture.reading import Found, sort_out
from stowage_testbed.whatif.inventory import DEVICE_KINDS

Manifest = dict[str, Any]


def found(*objects: Manifest) -> Found:
    """Return the objects by kind, as they are when they were read."""
    return sort_out(objects)


def node(name: str, cpu: str = "4", *, zone: str = "", taints: Any = (), **labels: str) -> Manifest:
    """Return a node; a further label is named by a keyword."""
    own = {"kubernetes.io/hostname": name, **labels}
    if zone:
        own["topology.kubernetes.io/zone"] = zone
    offers = {"cpu": cpu, "memory": "8Gi", "pods": "110", "hugepages": "0"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": own},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": offers},
    }


def pod(
    name: str,
    on: str = "",
    *,
    namespace: str = "shop",
    owner: tuple[str, str] | None = None,
    labels: dict[str, str] | None = None,
    why: str = "",
    cpu: str = "100m",
    **spec: Any,
) -> Manifest:
    """Return a pod, on a node or without one for a reason."""
    metadata: Manifest = {"name": name, "namespace": namespace}
    metadata["labels"] = labels or {"app": name}
    if owner:
        kind, of = owner
        reference = {"kind": kind, "name": of, "controller": True, "uid": of}
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", **reference}]
    container = {
        "name": "main",
        "image": "registry.acme.example/main:1",
        "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
    }
    place = {"nodeName": on} if on else {}
    condition = {"type": "PodScheduled", "status": "False", "message": why}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **place, **spec},
        "status": {"phase": "Running" if on else "Pending", "conditions": [condition] if why else []},
    }


def replicas(deployment: str, on: list[str], *, template_hash: str = "6f5c", **rest: Any) -> list[Manifest]:
    """Return the pods of a Deployment whose ReplicaSet is not known."""
    labels = {"app": deployment, "pod-template-hash": template_hash}
    owner = ("ReplicaSet", f"{deployment}-{template_hash}")
    return [pod(f"{owner[1]}-{number}", one, owner=owner, labels=labels, **rest) for number, one in enumerate(on)]


def thing(kind: str, name: str, namespace: str = "shop", **parts: Any) -> Manifest:
    """Return an object of another kind."""
    versions = {"PodDisruptionBudget": "policy/v1", "StorageClass": "storage.k8s.io/v1", "Queue": "example.com/v1"}
    versions |= dict.fromkeys(DEVICE_KINDS, "resource.k8s.io/v1")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    named = {"apiVersion": versions.get(kind, "v1"), "kind": kind}
    return {**named, "metadata": metadata, **parts}
