"""Where pods are described in an object: it is one, or it has templates of some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stowage_testbed.api.client import Manifest

Change = Callable[[Manifest], Manifest]

NO_PODS = "Reservation"
"""A kind whose template is no pod's, Stowage's and Koordinator's: it holds room."""


def change_pods(manifest: Mapping[str, Any], change: Change) -> Manifest:
    """Return an object in which what describes a pod is changed.

    That is the object itself if it is a Pod, and any ``template`` in it with
    containers: of a controller, a CronJob, or a kind that nobody here knows.

    Parameters
    ----------
    change
        Returns another pod, with metadata and spec, and leaves the one it gets alone.
    """
    if manifest["kind"] == "Pod":
        return change(dict(manifest))
    if manifest["kind"] == NO_PODS:
        return dict(manifest)
    return {key: _change(value, change) for key, value in manifest.items()}


def add_labels(pod: Manifest, labels: Mapping[str, str]) -> Manifest:
    """Return what describes a pod with further labels."""
    metadata = pod.get("metadata") or {}
    all_labels = {**(metadata.get("labels") or {}), **labels}
    return {**pod, "metadata": {**metadata, "labels": all_labels}}


def _change(value: Any, change: Change) -> Any:
    if isinstance(value, list):
        return [_change(one, change) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: change(dict(one)) if key == "template" and _is_pod(one) else _change(one, change)
        for key, one in value.items()
    }


def _is_pod(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("spec"), Mapping) and "containers" in value["spec"]
