"""Objects of a trace: what they are called, and what changes between two states."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest

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
