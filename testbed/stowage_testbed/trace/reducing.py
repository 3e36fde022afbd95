"""Objects reduced to what scheduling depends on.

No images, commands, environment, secrets, or notes of tools are left, nor what the
server makes itself. What is left can be created again as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import change_pods
from stowage_testbed.trace.format import Node, Owner
from stowage_testbed.trace.reducing_pods import UID_LABELS, only_filled, reduce_metadata, reduce_pod_spec

CONTROLLERS = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
"""Controllers that bring their pods again; those of others count as bare."""

JOB_LABELS = UID_LABELS | {"job-name", "batch.kubernetes.io/job-name"}
"""Labels that the server gives a Job's pods."""

_DERIVED_TAINT = "node.kubernetes.io/unschedulable"


def reduce_object(manifest: Mapping[str, Any]) -> Manifest:
    """Return an object without what the server made, its pods reduced."""
    kept = {key: value for key, value in manifest.items() if key not in {"status", "metadata"}}
    kept["metadata"] = reduce_metadata(manifest["metadata"])
    return _reduce_kind(change_pods(kept, _reduce_described_pod))


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
    metadata = reduce_metadata(pod.get("metadata") or {})
    return {**pod, "metadata": metadata, "spec": reduce_pod_spec(pod["spec"])}


def _reduce_kind(one: Manifest) -> Manifest:
    """Return an object without what only its kind has, and the server or a driver reads or writes."""
    spec = dict(one.get("spec") or {})
    match one["kind"]:
        case "Job" if not spec.get("manualSelector"):
            # The server gave it a selector, and labels to go with it.
            spec.pop("selector", None)
            template = spec["template"]
            spec["template"] = {**template, "metadata": _without_job_labels(template["metadata"])}
            return {**one, "metadata": _without_job_labels(one["metadata"]), "spec": spec}
        case "Namespace":
            # Its spec has finalizers.
            return {key: value for key, value in one.items() if key != "spec"}
        case "PersistentVolume":
            # It is bound again by the claim's name, and has no secrets.
            if claim := spec.get("claimRef"):
                names = ("apiVersion", "kind", "namespace", "name")
                spec["claimRef"] = {key: claim[key] for key in names if key in claim}
            if csi := spec.get("csi"):
                spec["csi"] = {key: csi[key] for key in ("driver", "volumeHandle")}
        case "Service":
            # It selects the same pods, and has no address.
            spec = {"clusterIP": "None", **only_filled(selector=spec.get("selector"))}
        case "StatefulSet" if claims := spec.get("volumeClaimTemplates"):
            spec["volumeClaimTemplates"] = [
                {"metadata": reduce_metadata(claim["metadata"]), "spec": claim["spec"]} for claim in claims
            ]
        case "StorageClass":
            # Only its provisioner reads parameters.
            return {key: value for key, value in one.items() if key != "parameters"}
        case _:
            return one
    return {**one, "spec": spec}


def _without_job_labels(metadata: Manifest) -> Manifest:
    labels = metadata.get("labels") or {}
    return {**metadata, "labels": {key: value for key, value in labels.items() if key not in JOB_LABELS}}
