"""Applying to a scenario's pods the overrides of the scheduler under comparison."""

from __future__ import annotations

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.scenario.manifests import Manifest


def with_overrides(manifest: Manifest, pod_overrides: PodOverrides | None) -> Manifest:
    """Return a pod or a controller with the overrides; other objects unchanged.

    What the scenario itself sets stays, except the scheduler's name.
    """
    if pod_overrides is None:
        return manifest
    if manifest["kind"] == "Pod":
        return _overridden(manifest, pod_overrides)
    if "template" in manifest["spec"] and manifest["kind"] != "Reservation":
        template = _overridden(manifest["spec"]["template"], pod_overrides)
        return {**manifest, "spec": {**manifest["spec"], "template": template}}
    return manifest


def _overridden(pod: Manifest, pod_overrides: PodOverrides) -> Manifest:
    metadata = pod.get("metadata", {})
    annotations = {**pod_overrides.annotations, **metadata.get("annotations", {})}
    return {
        **pod,
        "metadata": {
            **metadata,
            "labels": {**pod_overrides.labels, **metadata.get("labels", {})},
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {**pod["spec"], "schedulerName": pod_overrides.scheduler_name},
    }
