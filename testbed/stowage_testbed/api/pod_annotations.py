"""Annotations from which KWOK's stages tell how a fake pod lives."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest

LIFETIME = "stowage.dev/lifetime"
"""How long a pod runs before it is done, as a duration of Go."""

ENDS_IN = "stowage.dev/ends-in"
"""How long a pod takes to end when it is deleted, likewise."""


def spell_duration(seconds: float) -> str:
    """Return seconds as Go writes a duration."""
    return f"{round(seconds * 1000)}ms"


def spell_lifetime(pod: Manifest, seconds: float) -> Manifest:
    """Return what describes a pod that is done after so many seconds."""
    metadata = pod.get("metadata") or {}
    annotations = dict(metadata.get("annotations") or {})
    annotations[LIFETIME] = spell_duration(seconds)
    return {**pod, "metadata": {**metadata, "annotations": annotations}}
