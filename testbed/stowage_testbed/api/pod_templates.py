"""Where pods are described in an object, and the annotations that tell how a fake pod lives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.api.client import Manifest

Change = Callable[[Manifest], Manifest]

NO_PODS = "Reservation"  # A kind whose template is no pod's, Stowage's and Koordinator's: it holds room
LIFETIME = "stowage.dev/lifetime"  # How long a pod runs before it is done, as a duration of Go
ENDS_IN = "stowage.dev/ends-in"  # How long a pod takes to end when it is deleted, likewise


def change_pods(manifest: Mapping[str, Any], change: Change) -> Manifest:
    """Return an object in which what describes a pod is changed; ``change`` returns another pod.

    That is the object itself if it is a Pod, and any ``template`` in it with containers: of a controller, a
    CronJob, or a kind that nobody here knows.
    """
    if manifest["kind"] == "Pod":
        return change(dict(manifest))
    if manifest["kind"] == NO_PODS:
        return dict(manifest)
    return {key: _change(value, change) for key, value in manifest.items()}


def add_metadata(pod: Manifest, **further: Mapping[str, str]) -> Manifest:
    """Return what describes a pod with further ``labels`` or ``annotations``."""
    metadata = pod.get("metadata") or {}
    merged = {name: {**(metadata.get(name) or {}), **more} for name, more in further.items()}
    return {**pod, "metadata": {**metadata, **merged}}


@dataclass(frozen=True, slots=True)
class PodOverrides:
    """What a scheduler changes in every pod that it is to place."""

    scheduler_name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def apply_overrides(manifest: Manifest, pod_overrides: PodOverrides | None) -> Manifest:
    """Return an object whose pods have the overrides.

    What the scenario itself sets stays, except the scheduler's name.
    """
    if pod_overrides is None:
        return manifest
    return change_pods(manifest, lambda pod: override_pod(pod, pod_overrides))


def override_pod(pod: Manifest, pod_overrides: PodOverrides) -> Manifest:
    """Return what describes a pod with the overrides."""
    overrides = {"labels": pod_overrides.labels, "annotations": pod_overrides.annotations}
    own = pod.get("metadata") or {}
    further = {name: {**more, **(own.get(name) or {})} for name, more in overrides.items() if more}
    return {**add_metadata(pod, **further), "spec": {**pod["spec"], "schedulerName": pod_overrides.scheduler_name}}


def spell_duration(seconds: float) -> str:
    """Return seconds as Go writes a duration."""
    return f"{round(seconds * 1000)}ms"


def spell_lifetime(pod: Manifest, seconds: float) -> Manifest:
    """Return what describes a pod that is done after so many seconds."""
    return add_metadata(pod, annotations={LIFETIME: spell_duration(seconds)})


def _change(value: Any, change: Change) -> Any:
    if isinstance(value, list):
        return [_change(one, change) for one in value]
    if not isinstance(value, Mapping):
        return value
    changed = {key: _change(one, change) for key, one in value.items()}
    match value:
        case {"template": {"spec": {"containers": _}} as pod}:
            changed["template"] = change(dict(pod))
    return changed
