"""A snapshot as the manifests that the real scheduler is given."""

from typing import Any

from google.protobuf.json_format import MessageToDict

from stowage_optimizer.contract import optimizer_pb2 as pb

Manifest = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node_manifest(node: pb.Node, cpu_milli: int, pods: int = 110) -> Manifest:
    """Return ``node`` with another amount of CPU, and room for so many pods."""
    capacity = {"cpu": f"{cpu_milli}m", "memory": "1Gi", "pods": str(pods)}
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.taints]
    return {
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": taints},
        "status": {"capacity": capacity},
    }


def pod_manifest(snapshot: pb.Snapshot, pod: pb.Pod) -> Manifest:
    """Return ``pod`` as the API server stores it.

    The contract has the API's own names for terms, constraints and selectors.
    """
    (one,) = [x for x in snapshot.pod_classes if x.id == pod.class_id]
    ports = [
        {"containerPort": port.port, "hostPort": port.port, "hostIP": port.host_ip, "protocol": port.protocol or "TCP"}
        for port in one.host_ports
    ]
    requests = {"cpu": f"{one.requests.cpu_milli}m"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec: Manifest = {
        "containers": [{**container, "ports": ports}],
        "affinity": _affinity(one),
        "nodeSelector": dict(one.node_selector),
        "tolerations": [MessageToDict(tol) for tol in one.tolerations],
        "topologySpreadConstraints": [MessageToDict(x) for x in one.topology_spread],
    }
    if pod.node:
        spec["nodeName"] = pod.node
    metadata = {"name": pod.name, "namespace": pod.namespace, "labels": dict(one.labels)}
    return {"metadata": metadata, "spec": spec}


def _affinity(one: pb.PodClass) -> Manifest:
    kinds = {"podAffinity": one.required_pod_affinity, "podAntiAffinity": one.required_pod_anti_affinity}
    return {kind: {REQUIRED: [_term(one, term) for term in terms]} for kind, terms in kinds.items() if terms}


def _term(one: pb.PodClass, term: pb.PodAffinityTerm) -> Manifest:
    """Return ``term`` with the label keys filled in, which the API server does."""
    found = MessageToDict(term)
    for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        named = [key for key in found.pop(keys, ()) if key in one.labels]
        if named and "labelSelector" in found:
            found["labelSelector"].setdefault("matchExpressions", []).extend(
                {"key": key, "operator": operator, "values": [one.labels[key]]} for key in named
            )
    return found
