"""Pods wear what the scheduler of their test asks for, unless they say otherwise."""

from __future__ import annotations

from typing import Any

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.run.steps.dress import dressed

_OF_PODS = frozenset(
    {"Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"}
)
_NOBODYS = frozenset({None, "", "default-scheduler"})


def dressed_for(manifest: dict[str, Any], dress: Dress | None) -> dict[str, Any]:
    """Return a pod or a controller dressed for a scheduler; others as they are.

    Pods that name a scheduler of their own keep it.
    """
    if manifest["kind"] not in _OF_PODS:
        return manifest
    pod = manifest if manifest["kind"] == "Pod" else _template(manifest)
    name = (pod.get("spec") or {}).get("schedulerName")
    return dressed(manifest, dress) if name in _NOBODYS else manifest


def _template(manifest: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = (manifest.get("spec") or {}).get("template") or {}
    return template
