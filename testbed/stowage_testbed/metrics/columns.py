"""Nodes and pods as the scripts of pages read them: in columns, by their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stowage_testbed.amounts.resources import CPU, PODS
from stowage_testbed.metrics.record import PodRecord
from stowage_testbed.metrics.state import NodeState, PodState


def list_node_columns(nodes: Sequence[NodeState], resources: Sequence[str]) -> dict[str, Any]:
    """Return the nodes' names, and what each has of pods and of these resources."""
    return {
        "names": [node.name for node in nodes],
        "resources": list(resources),
        "amounts": {name: [node.resources[name] for node in nodes] for name in (*resources, PODS)},
    }


def list_pod_columns(pods: Sequence[PodRecord] | Sequence[PodState], nodes: Sequence[NodeState]) -> dict[str, Any]:
    """Return the pods' names, kinds (workload, priority, requests) and nodes; -1 is none of the nodes."""
    places = {node.name: index for index, node in enumerate(nodes)}
    kinds: dict[tuple[Any, ...], int] = {}
    return {
        "names": [pod.name for pod in pods],
        "kind": [kinds.setdefault((pod.workload, pod.priority, pod.requests), len(kinds)) for pod in pods],
        "node": [places.get(pod.node or "", -1) for pod in pods],
        "kinds": [[workload, priority, dict(requests)] for workload, priority, requests in kinds],
    }


def name_requested(resource: str) -> str:
    """Return what a chart says of the requests of a resource."""
    return f"{'CPU' if resource == CPU else resource} requested"
