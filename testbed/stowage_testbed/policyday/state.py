"""What is read from the state of a cluster in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

State = Mapping[str, Any]
"""``nodes``, ``pods`` and ``disruptionBudgets``, as Kubernetes' objects."""


def nodes_in_use(state: State) -> frozenset[str]:
    """Return the nodes that hold a pod which would not go with its node."""
    return frozenset(
        pod["spec"]["nodeName"]
        for pod in state["pods"]
        if pod["spec"].get("nodeName") and not goes_with_its_node(pod)
    )


def goes_with_its_node(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is one of a DaemonSet."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "DaemonSet" for owner in owners)
