"""What is read from the state of a cluster in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.observe.pod_body import key_of

State = Mapping[str, Any]
"""``nodes``, ``pods`` and ``disruptionBudgets``, as Kubernetes' objects, and
``coolingDown``, the pods that were moved within the cool-down, as namespace/name."""

_KEPT = {"stowage.dev/do-not-move": "true"}


def pods_as_they_may_move(state: State) -> list[dict[str, Any]]:
    """Return the pods; those that cool down say that they are not to be moved."""
    cooling = frozenset(state["coolingDown"])
    return [_kept(pod) if key_of(pod) in cooling else pod for pod in state["pods"]]


def _kept(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **_KEPT}
    return {**pod, "metadata": {**metadata, "annotations": annotations}}


def nodes_in_use(state: State) -> frozenset[str]:
    """Return the nodes that hold a pod which would not go with its node."""
    return frozenset(
        pod["spec"]["nodeName"] for pod in state["pods"] if pod["spec"].get("nodeName") and not goes_with_its_node(pod)
    )


def goes_with_its_node(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is one of a DaemonSet."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "DaemonSet" for owner in owners)
