"""Pods of a trace that nobody makes again: each with its life, as a manifest."""

from __future__ import annotations

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.pod_annotations import spell_lifetime
from stowage_testbed.trace.format import PodTemplate
from stowage_testbed.trace.lives import Life

GONE = frozenset({"deleted", "evicted"})
"""Ends that somebody other than the scheduler brought about, and does again."""

_MADE_BY_ADMISSION = ("priority", "preemptionPolicy", "schedulerName")


def make_pod(name: str, template: PodTemplate, life: Life, speed: float) -> Manifest:
    """Return a pod to create: it ends after as long as it ran, divided by ``speed``."""
    spec = {
        key: value
        for key, value in template.spec.items()
        if key not in _MADE_BY_ADMISSION
    }
    if life.node:
        # Who opened the gates is not recorded.
        spec.pop("schedulingGates", None)
    metadata = {
        "name": name,
        "labels": dict(template.labels),
        "annotations": dict(template.annotations),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    runs_s = life.runs_s
    return pod if runs_s is None else spell_lifetime(pod, runs_s / speed)
