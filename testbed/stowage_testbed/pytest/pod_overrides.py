"""Pods get the overrides of their test's scheduler, unless they name one themselves."""

from __future__ import annotations

from typing import Any

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.steps.pod_overrides import with_overrides

_OF_PODS = frozenset(
    {"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"}
)
_NOBODYS = frozenset({None, "", "default-scheduler"})


def with_overrides_for(
    manifest: dict[str, Any], pod_overrides: PodOverrides | None
) -> dict[str, Any]:
    """Return a pod or a controller with a scheduler's overrides; others unchanged.

    Pods that name a scheduler of their own keep it.
    """
    if manifest["kind"] not in _OF_PODS:
        return manifest
    pod = manifest if manifest["kind"] == "Pod" else _template(manifest)
    name = (pod.get("spec") or {}).get("schedulerName")
    return with_overrides(manifest, pod_overrides) if name in _NOBODYS else manifest


def _template(manifest: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = (manifest.get("spec") or {}).get("template") or {}
    return template
