"""Objects reduced to what scheduling depends on; they can be created again as they stand."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_templates import LIFETIME, change_pods
from stowage_testbed.hostpods import HOST_LABEL
from stowage_testbed.trace.format import PodTemplate

IMAGE = "pause"  # What stands for each image; nothing is pulled on a fake node

_POD_FIELDS = (
    "affinity", "hostNetwork", "nodeSelector", "overhead", "preemptionPolicy", "priority", "priorityClassName",
    "resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName", "schedulingGates",
    "schedulingGroup", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "workloadRef",
)  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {
    "hostNetwork": False,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER_FIELDS = ("resources", "restartPolicy")
_PORT_FIELDS = ("containerPort", "hostIP", "hostPort", "protocol")
_VOLUMES = ("persistentVolumeClaim", "ephemeral", "csi")

_OWN_ANNOTATIONS = frozenset({"cluster-autoscaler.kubernetes.io", "storageclass.kubernetes.io", "stowage.dev"})
"""Domains of annotations on which placing depends; beside all about scheduling."""

UID_LABELS = frozenset({"controller-uid", "batch.kubernetes.io/controller-uid"})
"""Labels that the server gives the pods of each Job anew."""

TOPOLOGY_LABELS = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
"""Labels that the server gives a pod when it is bound, as its node has them."""

_ADMITTED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_ADMITTED_S = 300
_ID_BYTES = 4

CONTROLLERS = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
"""Controllers that bring their pods again; those of others count as bare."""

JOB_LABELS = UID_LABELS | {"job-name", "batch.kubernetes.io/job-name"}  # Labels that the server gives a Job's pods


def reduce_object(manifest: Mapping[str, Any]) -> Manifest:
    """Return an object without what the server made, its pods reduced."""
    reduced = {key: value for key, value in manifest.items() if key not in {"status", "metadata"}}
    reduced["metadata"] = reduce_metadata(manifest["metadata"])
    return _reduce_kind(change_pods(reduced, _reduce_described_pod))


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
        case "ResourceSlice":
            # Since when a device has a taint, the server says again.
            spec["devices"] = [_drop_times(device) for device in spec.get("devices") or ()]
            if not spec["devices"]:
                del spec["devices"]
        case "DeviceTaintRule":
            spec["taint"] = _drop_time(spec["taint"])
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


def _drop_times(device: Manifest) -> Manifest:
    return {**device, **only_filled(taints=list(map(_drop_time, device.get("taints") or ())))}


def _drop_time(taint: Mapping[str, Any]) -> Manifest:
    return {key: value for key, value in taint.items() if key != "timeAdded"}


def _without_job_labels(metadata: Manifest) -> Manifest:
    labels = metadata.get("labels") or {}
    return {**metadata, "labels": {key: value for key, value in labels.items() if key not in JOB_LABELS}}


def reduce_pod_spec(spec: Mapping[str, Any]) -> Manifest:
    """Return what scheduling depends on of a pod, without its node, and what admission adds to every pod."""
    reduced = {key: spec[key] for key in _POD_FIELDS if spec.get(key) not in (None, [], {}, "", _DEFAULTS.get(key))}
    for key in ("initContainers", "containers"):
        if containers := spec.get(key):
            reduced[key] = [_reduce_container(one) for one in containers]
    volumes = [_reduce_volume(one) for one in spec.get("volumes") or () if any(key in one for key in _VOLUMES)]
    tolerations = [
        one
        for one in reduced.pop("tolerations", ())
        if not (one.get("key") in _ADMITTED and one.get("tolerationSeconds") == _ADMITTED_S)
    ]
    spreads = [_drop_merged_keys(one) for one in reduced.pop("topologySpreadConstraints", ())]
    if "affinity" in reduced:
        reduced["affinity"] = _unmerge(reduced["affinity"])
    return reduced | only_filled(tolerations=tolerations, topologySpreadConstraints=spreads, volumes=volumes)


def reduce_pod(pod: Mapping[str, Any]) -> PodTemplate:
    """Return what a pod is like, without how long it runs; one that its node made keeps to that node."""
    metadata, spec = pod["metadata"], reduce_pod_spec(pod["spec"])
    node = pod["spec"].get("nodeName")
    if node and any(one["kind"] == "Node" for one in metadata.get("ownerReferences") or ()):
        here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}
        spec |= {"affinity": {"nodeAffinity": required}, "tolerations": [{"operator": "Exists"}]}
    given = UID_LABELS | TOPOLOGY_LABELS if node else UID_LABELS
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in given}
    annotations = keep_annotations(metadata)
    annotations.pop(LIFETIME, None)
    return PodTemplate(labels, annotations, spec)


def is_of_host(spec: Mapping[str, Any]) -> bool:
    """Return whether a pod may be on a testbed's own node: the scheduler's, which a replay starts anew."""
    return any(one.get("key") == HOST_LABEL for one in spec.get("tolerations") or ())


def identify(template: PodTemplate, salt: int = 0) -> str:
    """Return what a template is known by: a hash of its content."""
    content = [template.labels, template.annotations, template.spec]
    text = json.dumps(content, sort_keys=True) + "!" * salt
    return hashlib.blake2b(text.encode(), digest_size=_ID_BYTES).hexdigest()


def reduce_metadata(metadata: Mapping[str, Any]) -> Manifest:
    """Return name, namespace, labels and the annotations that matter."""
    reduced = {key: metadata[key] for key in ("name", "namespace", "labels") if metadata.get(key)}
    return reduced | only_filled(annotations=keep_annotations(metadata))


def keep_annotations(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations on which placing depends, of all that tools write."""
    return {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if (domain := key.partition("/")[0]) in _OWN_ANNOTATIONS or "schedul" in domain
    }


def only_filled(**parts: Any) -> Manifest:
    """Return the parts that have something in them."""
    return {key: value for key, value in parts.items() if value}


def _reduce_container(container: Mapping[str, Any]) -> Manifest:
    ports = [{key: one[key] for key in _PORT_FIELDS if one.get(key)} for one in container.get("ports") or ()]
    reduced = {key: container[key] for key in _CONTAINER_FIELDS if container.get(key)}
    return {"name": container["name"], "image": IMAGE, **reduced, **only_filled(ports=ports)}


def _reduce_volume(volume: Mapping[str, Any]) -> Manifest:
    reduced = {key: volume[key] for key in ("name", *_VOLUMES) if key in volume}
    if "csi" in reduced:
        # Attributes may be anything, and the reference names a secret.
        reduced["csi"] = {"driver": reduced["csi"]["driver"]}
    if claim := reduced.get("ephemeral", {}).get("volumeClaimTemplate"):
        metadata = reduce_metadata(claim.get("metadata") or {})
        template = {**only_filled(metadata=metadata), "spec": claim["spec"]}
        reduced["ephemeral"] = {"volumeClaimTemplate": template}
    return reduced


def _unmerge(value: Any) -> Any:
    """Return an affinity whose terms are as they were before the server merged them."""
    if isinstance(value, list):
        return [_unmerge(one) for one in value]
    if isinstance(value, Mapping):
        return _drop_merged_keys({key: _unmerge(one) for key, one in value.items()})
    return value


def _drop_merged_keys(term: Mapping[str, Any]) -> Manifest:
    """Drop label keys that the server has put into the selector already: it refuses a term that has a key in both."""
    selector = term.get("labelSelector") or {}
    merged = {one["key"] for one in selector.get("matchExpressions") or ()}
    reduced = dict(term)
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        if field in reduced:
            reduced[field] = [key for key in reduced[field] if key not in merged]
            if not reduced[field]:
                del reduced[field]
    return reduced
