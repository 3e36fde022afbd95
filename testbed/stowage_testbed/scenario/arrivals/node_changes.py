"""Nodes of a trace as fake nodes, and their changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.cluster.node_pool import annotate_fake
from stowage_testbed.trace.format import Node

_NOT_READY = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints that the controller manager takes from a fake node, which is always ready."""


def make_node_manifest(name: str, node: Node) -> Manifest:
    """Return a node to create; one that was not ready takes no new pods."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(node.labels), "annotations": annotate_fake(name)},
        "spec": _make_spec(node),
        "status": {"capacity": node.capacity, "allocatable": node.allocatable},
    }


def make_node_patches(before: Node, now: Node) -> Iterator[tuple[str, Manifest]]:
    """Yield changes of a node, each with the subresource that it is of."""
    labels: dict[str, str | None] = dict.fromkeys(key for key in before.labels if key not in now.labels)
    labels |= {key: value for key, value in now.labels.items() if before.labels.get(key) != value}
    change: Manifest = {"metadata": {"labels": labels}} if labels else {}
    if (spec := _make_spec(now)) != _make_spec(before):
        change["spec"] = spec
    if change:
        yield "", change
    amounts = {field: _diff(getattr(before, field), getattr(now, field)) for field in ("capacity", "allocatable")}
    if any(amounts.values()):
        yield "status", {"status": amounts}


def _make_spec(node: Node) -> dict[str, Any]:
    ready = all(one["key"] not in _NOT_READY for one in node.taints)
    return {
        "taints": [one for one in node.taints if one["key"] not in _NOT_READY],
        "unschedulable": node.unschedulable or not ready,
    }


def _diff(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str | None]:
    gone: dict[str, str | None] = dict.fromkeys(key for key in before if key not in now)
    return gone | {key: value for key, value in now.items() if before.get(key) != value}
