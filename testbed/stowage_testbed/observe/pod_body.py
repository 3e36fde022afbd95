"""What is read of a pod's JSON, and of a node's: one reader for all rooms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from stowage_testbed.amounts.resources import ONE_POD, Resources
from stowage_testbed.observe.change import JsonObject

FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of pods whose containers have ended for good; they claim no room."""


def key_of(body: JsonObject) -> str:
    """Return ``namespace/name``."""
    metadata = body["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def node_of(body: JsonObject) -> str:
    """Return the pod's node, empty while it has none."""
    return (body.get("spec") or {}).get("nodeName") or ""


def takes_room(body: JsonObject) -> bool:
    """Return whether the pod takes room on its node, also while it terminates."""
    phase = (body.get("status") or {}).get("phase")
    return bool(node_of(body)) and phase not in FINISHED


def is_terminating(body: JsonObject) -> bool:
    """Return whether the pod's deletion has begun."""
    return bool(body["metadata"].get("deletionTimestamp"))


def is_live(body: JsonObject) -> bool:
    """Return whether the pod counts for its controller."""
    phase = (body.get("status") or {}).get("phase")
    return not is_terminating(body) and phase not in FINISHED


def is_live_and_ready(body: JsonObject) -> bool:
    """Return whether the pod is Ready, and so counts for budgets."""
    return is_live(body) and is_ready(body.get("status") or {})


def is_ready(status: Mapping[str, Any]) -> bool:
    """Return whether a pod's condition ``Ready`` holds."""
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in status.get("conditions") or ()
    )


def is_being_evicted(body: JsonObject) -> bool:
    """Return whether the server has granted an eviction of the pod."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == "EvictionByEvictionAPI"
        for one in conditions
    )


def controller_of(body: JsonObject) -> Mapping[str, Any]:
    """Return the reference to the pod's controller, empty without one."""
    for owner in body["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return {}


def priority_of(body: JsonObject) -> int:
    """Return the pod's priority."""
    return int((body.get("spec") or {}).get("priority") or 0)


def requests_of(body: JsonObject) -> Resources:
    """Return what the pod takes, as the scheduler counts it.

    Containers and sidecars together, or the largest init container with the sidecars
    before it, whichever is more; in its stead what the pod as a whole asks for, where
    it does; and the overhead. The pod itself counts as one.
    """
    spec = body.get("spec") or {}
    running: Counter[str] = Counter()
    largest: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        needs = _requests(container)
        if container.get("restartPolicy") == "Always":
            running.update(needs)
            largest |= running
        else:
            largest |= running + Counter(needs)
    for container in spec.get("containers") or ():
        running.update(_requests(container))
    asked = Resources({**(running | largest), **_requests(spec)})
    return asked + Resources.of_list(spec.get("overhead") or {}) + ONE_POD


def allocatable_of(node: JsonObject) -> Resources:
    """Return what a node can give."""
    return Resources.of_list((node.get("status") or {}).get("allocatable") or {})


def _requests(asker: Mapping[str, Any]) -> Resources:
    """Return what a container asks for, or a pod as a whole."""
    return Resources.of_list((asker.get("resources") or {}).get("requests") or {})
