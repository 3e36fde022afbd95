"""What is read from the state of a cluster in virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stowage_testbed.invariants.selector import selects

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


def broken_budgets(state: State) -> frozenset[str]:
    """Return the disruption budgets that have fewer pods running than they need.

    The pods are counted here; how many there must be is read from the status.
    """
    return frozenset(_broken(state))


def _broken(state: State) -> Iterator[str]:
    for budget in state["disruptionBudgets"]:
        metadata, selector = budget["metadata"], budget["spec"].get("selector") or {}
        healthy = sum(
            pod["metadata"]["namespace"] == metadata["namespace"]
            and bool(pod["spec"].get("nodeName"))
            and selects(selector, pod["metadata"].get("labels") or {})
            for pod in state["pods"]
        )
        if healthy < budget["status"].get("desiredHealthy", 0):
            yield f"{metadata['namespace']}/{metadata['name']}"
