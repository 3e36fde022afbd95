"""Faults of nodes in the middle of a plan: gone, cordoned, tainted, smaller.

The way is which node it is: one that pods come to, one that they leave, or one that the
plan has nothing to do with.
"""

from __future__ import annotations

from functools import partial

from benchmarks.faults.context import FaultContext
from stowage_testbed.amounts.quantity import parse_memory
from stowage_testbed.run.environment import collect_pods

ROLES = ("target", "source", "bystander")
RESTORED_SHARE = 0.5
"""How often a node becomes what it was when the fault ends; else it stays as it is."""
LEFT_SHARE = 0.6
"""What is left of the memory of a node that shrinks."""
TAINT = {"key": "stowage.dev/fault", "value": "yes", "effect": "NoSchedule"}


def delete(context: FaultContext) -> None:
    """Delete the node; when the fault ends its pods go as well."""
    name = context.planned_node(context.way(*ROLES))
    context.objects.delete("Node", name)
    context.on_end(partial(collect_pods, context.run, context.namespace, name))


def cordon(context: FaultContext) -> None:
    """Cordon the node."""
    _change(context, {"unschedulable": True}, {"unschedulable": None})


def taint(context: FaultContext) -> None:
    """Give the node a taint that no pod tolerates."""
    _change(context, {"taints": [TAINT]}, {"taints": None})


def shrink(context: FaultContext) -> None:
    """Take a part of the node's memory away; pods that run stay."""
    name = context.planned_node(context.way(*ROLES))
    body = next(
        body
        for body in context.run.observer.read(lambda state: state.bodies("Node"))
        if body["metadata"]["name"] == name
    )
    whole = body["status"]["allocatable"]["memory"]
    left = str(int(parse_memory(whole) * LEFT_SHARE))
    _resize(context, name, left)
    if context.rng.random() < RESTORED_SHARE:
        context.on_end(partial(_resize, context, name, whole))


def _change(context: FaultContext, spec: object, back: object) -> None:
    name = context.planned_node(context.way(*ROLES))
    context.objects.patch("Node", name, {"spec": spec})
    if context.rng.random() < RESTORED_SHARE:
        context.on_end(partial(context.objects.patch, "Node", name, {"spec": back}))


def _resize(context: FaultContext, name: str, memory: str) -> None:
    sizes = {"allocatable": {"memory": memory}, "capacity": {"memory": memory}}
    context.objects.patch("Node", name, {"status": sizes}, subresource="status")
