"""Objects reduced to what scheduling depends on.

No images, commands, environment, secrets, or notes of tools are left, nor what the
server makes itself. What is left can be created again as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import change_pods
from stowage_testbed.trace.format import Node, Owner
from stowage_testbed.trace.reducing_pods import (
    UID_LABELS,
    keep_annotations,
    only_filled,
    reduce_metadata,
    reduce_pod_spec,
)

CONTROLLERS = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
"""Controllers that bring their pods again; those of others count as bare."""

JOB_LABELS = UID_LABELS | {"job-name", "batch.kubernetes.io/job-name"}
"""Labels that the server gives a Job's pods."""

_DERIVED_TAINT = "node.kubernetes.io/unschedulable"


def reduce_object(manifest: Mapping[str, Any]) -> Manifest:
    """Return an object without what the server made, its pods reduced."""
    kept = {key: value for key, value in manifest.items() if key not in {"status", "metadata"}}
    kept["metadata"] = reduce_metadata(manifest["metadata"])
    reduced = change_pods(kept, _reduce_described_pod)
    return _OF_KIND.get(manifest["kind"], dict)(reduced)


def reduce_node(node: Mapping[str, Any]) -> Node:
    """Return a node; taints that follow from its other fields are left out."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    capacity = dict(status.get("capacity") or {})
    return Node(
        capacity=capacity,
        allocatable=dict(status.get("allocatable") or capacity),
        labels=dict(node["metadata"].get("labels") or {}),
        taints=[
            {key: one[key] for key in ("key", "value", "effect") if one.get(key)}
            for one in spec.get("taints") or ()
            if one["key"] != _DERIVED_TAINT
        ],
        unschedulable=bool(spec.get("unschedulable")),
    )


def find_owner(manifest: Mapping[str, Any]) -> Owner | None:
    """Return the controller of an object if it is one that is recorded."""
    for one in manifest["metadata"].get("ownerReferences") or ():
        if one.get("controller") and one["kind"] in CONTROLLERS:
            return Owner(one["kind"], one["name"])
    return None


def _reduce_described_pod(pod: Manifest) -> Manifest:
    metadata = pod.get("metadata") or {}
    kept = only_filled(
        name=metadata.get("name"),
        namespace=metadata.get("namespace"),
        labels=dict(metadata.get("labels") or {}),
        annotations=keep_annotations(metadata),
    )
    return {**pod, "metadata": kept, "spec": reduce_pod_spec(pod["spec"])}


def _reduce_job(job: Manifest) -> Manifest:
    """Return a Job without the selector and the labels that the server gave it."""
    spec, template = dict(job["spec"]), job["spec"]["template"]
    if spec.get("manualSelector"):
        return job
    spec.pop("selector", None)
    metadata = template["metadata"]
    labels = metadata.get("labels") or {}
    labels = {key: value for key, value in labels.items() if key not in JOB_LABELS}
    spec["template"] = {**template, "metadata": {**metadata, "labels": labels}}
    own = job["metadata"].get("labels") or {}
    own = {key: value for key, value in own.items() if key not in JOB_LABELS}
    return {**job, "metadata": {**job["metadata"], "labels": own}, "spec": spec}


def _reduce_namespace(namespace: Manifest) -> Manifest:
    """Return a namespace without the finalizers that its spec has."""
    return {key: value for key, value in namespace.items() if key != "spec"}


def _reduce_volume(volume: Manifest) -> Manifest:
    """Return a volume that is bound again by the claim's name, with no secrets."""
    spec = dict(volume["spec"])
    if claim := spec.get("claimRef"):
        names = ("apiVersion", "kind", "namespace", "name")
        spec["claimRef"] = {key: claim[key] for key in names if key in claim}
    if csi := spec.get("csi"):
        spec["csi"] = {key: csi[key] for key in ("driver", "volumeHandle")}
    return {**volume, "spec": spec}


def _reduce_stateful_set(controller: Manifest) -> Manifest:
    spec = dict(controller["spec"])
    if claims := spec.get("volumeClaimTemplates"):
        spec["volumeClaimTemplates"] = [
            {"metadata": reduce_metadata(one["metadata"]), "spec": one["spec"]} for one in claims
        ]
    return {**controller, "spec": spec}


def _reduce_service(service: Manifest) -> Manifest:
    """Return a service that selects the same pods and has no address."""
    selector = (service.get("spec") or {}).get("selector")
    spec = {"clusterIP": "None", **only_filled(selector=selector)}
    return {**service, "spec": spec}


def _reduce_storage_class(one: Manifest) -> Manifest:
    """Return a class without parameters, which only its provisioner reads."""
    return {key: value for key, value in one.items() if key != "parameters"}


_OF_KIND: Mapping[str, Callable[[Manifest], Manifest]] = {
    "Job": _reduce_job,
    "Namespace": _reduce_namespace,
    "PersistentVolume": _reduce_volume,
    "Service": _reduce_service,
    "StatefulSet": _reduce_stateful_set,
    "StorageClass": _reduce_storage_class,
}
