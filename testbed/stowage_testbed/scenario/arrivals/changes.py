"""Objects and nodes of a trace: what they are called, what they are as fakes, and what changes between two states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.cluster.node_pool import annotate_fake
from stowage_testbed.trace.format import Node

Key = tuple[str, str, str]
"""Kind, namespace and name, as recorded."""

BINDINGS = {"PersistentVolume": "claimRef", "PersistentVolumeClaim": "volumeName"}
"""What binds a volume: who does that then does it once more, as it sees fit."""


def name_key(manifest: Manifest) -> Key:
    """Return what an object of a trace is told from others by."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def name_kind(manifest: Manifest) -> str:
    """Return the kind with its version, by which requests name it."""
    return f"{manifest['apiVersion']}/{manifest['kind']}"


def make_merge_patch(before: Manifest, now: Manifest) -> Manifest:
    """Return the change from one object to the other (RFC 7396)."""
    change: Manifest = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := make_merge_patch(old, value):
                change[key] = inner
        elif old != value:
            change[key] = value
    return change


def keep_binding(before: Manifest, now: Manifest) -> Manifest:
    """Return a volume or a claim as it is now, bound as it was before."""
    field = BINDINGS[now["kind"]]
    spec = {key: value for key, value in now["spec"].items() if key != field}
    if field in before["spec"]:
        spec[field] = before["spec"][field]
    return {**now, "spec": spec}


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
