"""Making a scenario's pods wear what the scheduler under comparison asks for."""

from __future__ import annotations

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.scenario.manifests import Manifest


def dressed(manifest: Manifest, dress: Dress | None) -> Manifest:
    """Return a pod or a controller whose pods wear the dress; others are left alone.

    What the scenario says itself stays, save the scheduler's name.
    """
    if dress is None:
        return manifest
    if manifest["kind"] == "Pod":
        return _wearing(manifest, dress)
    if "template" in manifest["spec"] and manifest["kind"] != "Reservation":
        template = _wearing(manifest["spec"]["template"], dress)
        return {**manifest, "spec": {**manifest["spec"], "template": template}}
    return manifest


def _wearing(pod: Manifest, dress: Dress) -> Manifest:
    metadata = pod.get("metadata", {})
    annotations = {**dress.annotations, **metadata.get("annotations", {})}
    return {
        **pod,
        "metadata": {
            **metadata,
            "labels": {**dress.labels, **metadata.get("labels", {})},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {**pod["spec"], "schedulerName": dress.scheduler_name},
    }
