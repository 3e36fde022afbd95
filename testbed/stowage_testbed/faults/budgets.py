"""Faults of disruption budgets in the middle of a plan: one appears, one shrinks."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowage_testbed.faults.ground import Ground
from stowage_testbed.scenario.manifests import WORKLOAD_LABEL, Manifest

NAME = "fault"
SECOND = "fault-too"


def create_budget(ground: Ground) -> None:
    """Create a budget that allows nothing any more, or two for the same pods.

    No eviction is granted of a pod that two budgets select.
    """
    owner = ground.moved_owner()
    names = {"one": (NAME,), "two": (NAME, SECOND)}[ground.way("one", "two")]
    for name in names:
        ground.objects.create(_budget(ground, name, owner, {"maxUnavailable": 0}))
        ground.mend_with(partial(_delete, ground, name))


def allow_one(ground: Ground, owner: str) -> None:
    """Create a budget under which a plan can be carried out, pod by pod."""
    ground.objects.create(_budget(ground, NAME, owner, {"maxUnavailable": 1}))


def shrink_budget(ground: Ground) -> None:
    """Let the budget allow nothing any more."""
    ground.objects.patch(
        "PodDisruptionBudget",
        NAME,
        {"spec": {"maxUnavailable": 0}},
        namespace=ground.namespace,
    )
    ground.mend_with(partial(_delete, ground, NAME))


def _budget(ground: Ground, name: str, owner: str, allowed: Any) -> Manifest:
    selector = {"matchLabels": {WORKLOAD_LABEL: owner}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": ground.namespace},
        "spec": {"selector": selector, **allowed},
    }


def _delete(ground: Ground, name: str) -> None:
    ground.objects.delete("PodDisruptionBudget", name, namespace=ground.namespace)
