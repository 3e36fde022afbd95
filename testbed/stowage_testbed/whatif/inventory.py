"""All that is known of a cluster: its objects, without what is not needed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stowage_testbed.errors import InputError
from stowage_testbed.observe.pod_body import FINISHED, priority_of

Manifest = Mapping[str, Any]

_SPREADING = "default spreading, which only breaks ties"
_VOLUMES = "volumes: pods with claims are left alone"
_RETURNING = "controllers, quotas and limits: who would not come back when evicted"
FURTHER = {
    "PodDisruptionBudget": "disruption budgets: a move may break one",
    "Namespace": (
        "labels of namespaces: affinity terms that select namespaces by label"
    ),
    "PersistentVolumeClaim": _VOLUMES,
    "PersistentVolume": _VOLUMES,
    "StorageClass": "volumes that are still to be made: where they can be",
    "CSINode": "how many volumes a node takes",
    "Service": _SPREADING,
    "ReplicaSet": _SPREADING,
    "StatefulSet": _SPREADING,
    "Deployment": _RETURNING,
    "Job": _RETURNING,
    "ResourceQuota": _RETURNING,
    "LimitRange": _RETURNING,
}
"""Kinds that are read where it is allowed, and what cannot be judged without each."""

_META = (
    "name", "namespace", "uid", "labels", "annotations", "ownerReferences",
    "creationTimestamp", "deletionTimestamp",
)  # fmt: skip
_CONTAINER = ("name", "image", "resources", "ports", "restartPolicy")
"""Neither commands nor environments, which may hold secrets, are kept."""

_CONTAINERS = ("containers", "initContainers")
_POD_STATUS = ("phase", "startTime", "nominatedNodeName", "conditions")
_NODE_STATUS = ("allocatable", "capacity", "images", "conditions")
_SELECTING = ("Service", "ReplicaSet", "StatefulSet")
"""Of these the selector is all that the scheduler asks; their templates are as secret
as the pods, and as large."""

_ANYWHERE = frozenset({"configMap", "secret", "projected", "downwardAPI"})
"""Volumes that bind a pod to no node, and of which no rule asks."""

_UNWANTED_NOTES = ("kubectl.kubernetes.io/last-applied-configuration",)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was read.

    Attributes
    ----------
    nodes, pods
        Pods that have ended are left out.
    objects
        What else affects placements.
    unread
        What could not be read, and so cannot be judged, in words.
    """

    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    unread: tuple[str, ...] = ()


def inventory_of(objects: Iterable[Manifest], unread: Iterable[str] = ()) -> Inventory:
    """Return the inventory of a mixed heap of objects.

    Raises
    ------
    InputError
        There are no nodes or no pods among them.
    """
    nodes, pods, others = list[Manifest](), list[Manifest](), list[Manifest]()
    for one in map(reduced, objects):
        if one["kind"] == "Node":
            nodes.append(one)
        elif one["kind"] == "Pod":
            if one["status"].get("phase") not in FINISHED:
                pods.append(one)
        elif one["kind"] in FURTHER:
            others.append(one)
    for found, name in ((nodes, "nodes"), (pods, "pods")):
        if not found:
            raise InputError(
                f"there are no {name} in what was read; what-if needs at least the "
                "cluster's nodes and pods, of all namespaces"
            )
    wanted = frozenset(_images_of(pods))
    return Inventory(
        tuple(_with_images(node, wanted) for node in sorted(nodes, key=_name)),
        tuple(sorted(pods, key=_turn)),
        tuple(others),
        tuple(dict.fromkeys(unread)),
    )


def reduced(one: Manifest) -> Manifest:
    """Return an object without what is not needed; of unknown kinds only the kind.

    What was reduced before stays as it is.
    """
    make = {"Node": _node, "Pod": _pod}.get(one["kind"])
    if make:
        return make(one)
    return _further(one) if one["kind"] in FURTHER else {"kind": one["kind"]}


def _images_of(pods: Iterable[Manifest]) -> Iterator[str]:
    """Yield the names by which nodes may have the images of pods that wait."""
    for pod in pods:
        if not pod["spec"].get("nodeName"):
            for name in _CONTAINERS:
                for container in pod["spec"].get(name, ()):
                    image = str(container.get("image", ""))
                    # The scheduler looks for images without a tag under this one.
                    yield from (image, f"{image}:latest")


def _with_images(node: Manifest, wanted: frozenset[str]) -> Manifest:
    """Return a node with those of its images that matter for where pods go.

    A kubelet reports fifty, which are most of what is known of a node.
    """
    images = [
        one
        for one in node["status"].get("images", ())
        if not wanted.isdisjoint(one.get("names") or ())
    ]
    return {**node, "status": {**node["status"], "images": images}}


def _node(one: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(one),
        "spec": one.get("spec", {}),
        "status": _kept(one.get("status", {}), _NODE_STATUS),
    }


def _pod(one: Manifest) -> Manifest:
    spec = dict(one.get("spec", {}))
    spec.pop("ephemeralContainers", None)
    for name in _CONTAINERS:
        if spec.get(name):
            spec[name] = [_kept(container, _CONTAINER) for container in spec[name]]
    if spec.get("volumes"):
        spec["volumes"] = [
            volume for volume in spec["volumes"] if _ANYWHERE.isdisjoint(volume)
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(one),
        "spec": spec,
        "status": _kept(one.get("status", {}), _POD_STATUS),
    }


def _further(one: Manifest) -> Manifest:
    kept = {name: value for name, value in one.items() if name != "metadata"}
    if one["kind"] in _SELECTING:
        kept = _kept(kept, ("apiVersion", "kind"))
        kept["spec"] = _kept(one.get("spec", {}), ("selector",))
    elif "template" in (spec := one.get("spec") or {}):
        template = spec["template"]
        bare = _pod({"metadata": {}, **template})["spec"]
        kept["spec"] = {**spec, "template": {**template, "spec": bare}}
    return {**kept, "metadata": _metadata(one)}


def _metadata(one: Manifest) -> Manifest:
    metadata = _kept(one["metadata"], _META)
    notes = metadata.get("annotations")
    if notes:
        metadata["annotations"] = {
            name: text for name, text in notes.items() if name not in _UNWANTED_NOTES
        }
    return metadata


def _kept(values: Manifest, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if values.get(name) is not None}


def _name(one: Manifest) -> str:
    return str(one["metadata"]["name"])


def _turn(pod: Manifest) -> tuple[int, str, str, str]:
    """Return a pod's place in the scheduler's queue."""
    meta = pod["metadata"]
    made = str(meta.get("creationTimestamp", ""))
    return -priority_of(pod), made, str(meta.get("namespace", "")), _name(pod)
