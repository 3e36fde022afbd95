"""Claims that pods mount, and the volumes that they are bound to."""

from __future__ import annotations

from random import Random

from stowage_testbed.agreement.draft import Draft, Manifest
from stowage_testbed.cluster.node_pool import ZONE_LABEL

POD_SHARE = 0.08
SIZE = {"storage": "1Gi"}


def add_volumes(rng: Random, draft: Draft) -> None:
    """Let some pods mount a claim of their own."""
    for pod in draft.pods:
        if rng.random() < POD_SHARE:
            _mount(rng, draft, pod)


def _mount(rng: Random, draft: Draft, pod: Manifest) -> None:
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    pod["spec"]["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    ]
    bound = bool(rng.randrange(4))
    draft.objects.append(claim(namespace, name, bound=bound))
    if not bound:
        return
    made = volume(namespace, name)
    node = rng.choice(draft.nodes)["metadata"]
    if rng.randrange(3):
        _reach_from(rng, made, node)
    elif ZONE_LABEL in node["labels"]:
        # The old way to say where a volume is; the scheduler honours it.
        made["metadata"]["labels"] = {ZONE_LABEL: node["labels"][ZONE_LABEL]}
    draft.objects.append(made)


def claim(namespace: str, name: str, *, bound: bool) -> Manifest:
    """Return a claim; if it is bound, to the volume of the same name."""
    metadata: Manifest = {"namespace": namespace, "name": name}
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}}
    if bound:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = f"{namespace}-{name}"
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    status = {"phase": "Bound" if bound else "Pending"}
    return {**kind, "metadata": metadata, "spec": spec, "status": status}


def volume(namespace: str, name: str) -> Manifest:
    """Return the volume of the claim ``name``, which every node can reach."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{name}"},
        "spec": {
            "capacity": SIZE,
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "files", "path": "/"},
            "claimRef": {"namespace": namespace, "name": name},
        },
        "status": {"phase": "Bound"},
    }


def _reach_from(rng: Random, made: Manifest, node: Manifest) -> None:
    """Let the volume be reached from nodes with a label of ``node``."""
    term: Manifest = {}
    if node["labels"]:
        key = rng.choice(sorted(node["labels"]))
        labelled = {"key": key, "operator": "In", "values": [node["labels"][key]]}
        term["matchExpressions"] = [labelled]
    if not term or not rng.randrange(4):
        named = {"key": "metadata.name", "operator": "In", "values": [node["name"]]}
        term["matchFields"] = [named]
    made["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
