"""A snapshot as the manifests that the real scheduler is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb

Manifest = dict[str, Any]


def node_manifest(node: pb.Node, cpu_milli: int, pods: int = 110) -> Manifest:
    """Return ``node`` with another amount of CPU, and room for so many pods."""
    capacity = {"cpu": f"{cpu_milli}m", "memory": "1Gi", "pods": str(pods)}
    taints = [
        {"key": one.key, "value": one.value, "effect": one.effect}
        for one in node.taints
    ]
    return {
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": taints},
        "status": {"capacity": capacity},
    }


def namespace_manifest(namespace: pb.Namespace) -> Manifest:
    """Return ``namespace`` with its labels."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace.name, "labels": dict(namespace.labels)},
    }


def pod_manifest(snapshot: pb.Snapshot, pod: pb.Pod) -> Manifest:
    """Return ``pod`` as the API server stores it."""
    (one,) = [x for x in snapshot.pod_classes if x.id == pod.class_id]
    ports = [
        {
            "containerPort": port.port,
            "hostPort": port.port,
            "hostIP": port.host_ip,
            "protocol": port.protocol or "TCP",
        }
        for port in one.host_ports
    ]
    requests = {"cpu": f"{one.requests.cpu_milli}m"}
    container = {
        "name": "c",
        "image": "i",
        "ports": ports,
        "resources": {"requests": requests},
    }
    spec: Manifest = {
        "containers": [container],
        "affinity": _affinity(one),
        "nodeSelector": dict(one.node_selector),
        "tolerations": [
            {"key": tol.key, "operator": tol.operator, "value": tol.value}
            for tol in one.tolerations
        ],
        "topologySpreadConstraints": [
            _spread(spread) for spread in one.topology_spread
        ],
    }
    if pod.node:
        spec["nodeName"] = pod.node
    metadata = {
        "name": pod.name,
        "namespace": pod.namespace,
        "labels": dict(one.labels),
    }
    return {"metadata": metadata, "spec": spec}


def _affinity(one: pb.PodClass) -> Manifest:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    found: Manifest = {}
    if one.required_pod_affinity:
        terms = [_term(one, term) for term in one.required_pod_affinity]
        found["podAffinity"] = {required: terms}
    if one.required_pod_anti_affinity:
        terms = [_term(one, term) for term in one.required_pod_anti_affinity]
        found["podAntiAffinity"] = {required: terms}
    return found


def _term(one: pb.PodClass, term: pb.PodAffinityTerm) -> Manifest:
    """Return ``term`` with the label keys filled in, which the API server does."""
    found: Manifest = {"topologyKey": term.topology_key}
    if term.HasField("label_selector"):
        selector = _selector(term.label_selector)
        for keys, operator in (
            (term.match_label_keys, "In"),
            (term.mismatch_label_keys, "NotIn"),
        ):
            selector["matchExpressions"] += _filled_in(one, keys, operator)
        found["labelSelector"] = selector
    if term.namespaces:
        found["namespaces"] = list(term.namespaces)
    if term.HasField("namespace_selector"):
        found["namespaceSelector"] = _selector(term.namespace_selector)
    return found


def _filled_in(one: pb.PodClass, keys: Iterable[str], operator: str) -> list[Manifest]:
    return [
        {"key": key, "operator": operator, "values": [one.labels[key]]}
        for key in keys
        if key in one.labels
    ]


def _spread(spread: pb.TopologySpreadConstraint) -> Manifest:
    found: Manifest = {
        "maxSkew": spread.max_skew,
        "topologyKey": spread.topology_key,
        "whenUnsatisfiable": spread.when_unsatisfiable,
        "matchLabelKeys": list(spread.match_label_keys),
    }
    if spread.HasField("label_selector"):
        found["labelSelector"] = _selector(spread.label_selector)
    if spread.min_domains:
        found["minDomains"] = spread.min_domains
    if spread.node_affinity_policy:
        found["nodeAffinityPolicy"] = spread.node_affinity_policy
    if spread.node_taints_policy:
        found["nodeTaintsPolicy"] = spread.node_taints_policy
    return found


def _selector(selector: pb.LabelSelector) -> Manifest:
    return {
        "matchLabels": dict(selector.match_labels),
        "matchExpressions": [
            {"key": one.key, "operator": one.operator, "values": list(one.values)}
            for one in selector.match_expressions
        ],
    }
