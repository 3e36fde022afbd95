"""Faults of disruption budgets in the middle of a plan: one appears, one shrinks."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowage_testbed.faults.context import FaultContext
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import Manifest

NAME = "fault"
SECOND = "fault-too"


def create_budget(context: FaultContext) -> None:
    """Create a budget that allows nothing any more, or two for the same pods.

    No eviction is granted of a pod that two budgets select.
    """
    owner = context.moved_owner()
    names = {"one": (NAME,), "two": (NAME, SECOND)}[context.way("one", "two")]
    for name in names:
        context.objects.create(_budget(context, name, owner, {"maxUnavailable": 0}))
        context.on_end(partial(_delete, context, name))


def allow_one(context: FaultContext, owner: str) -> None:
    """Create a budget under which a plan can be carried out, pod by pod."""
    context.objects.create(_budget(context, NAME, owner, {"maxUnavailable": 1}))


def shrink_budget(context: FaultContext) -> None:
    """Let the budget allow nothing any more."""
    context.objects.patch(
        "PodDisruptionBudget",
        NAME,
        {"spec": {"maxUnavailable": 0}},
        namespace=context.namespace,
    )
    context.on_end(partial(_delete, context, NAME))


def _budget(context: FaultContext, name: str, owner: str, allowed: Any) -> Manifest:
    selector = {"matchLabels": {WORKLOAD_LABEL: owner}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": context.namespace},
        "spec": {"selector": selector, **allowed},
    }


def _delete(context: FaultContext, name: str) -> None:
    context.objects.delete("PodDisruptionBudget", name, namespace=context.namespace)
