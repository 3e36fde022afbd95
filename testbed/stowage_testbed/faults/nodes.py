"""Faults of nodes in the middle of a plan: gone, cordoned, tainted, smaller.

The way is which node it is: one that pods come to, one that they leave, or one that the
plan has nothing to do with.
"""

from __future__ import annotations

from functools import partial

from stowage_testbed.faults.ground import Ground
from stowage_testbed.quantity import parse_memory
from stowage_testbed.run.orphans import collect_pods

ROLES = ("target", "source", "bystander")
MENDED_SHARE = 0.5
"""How often a node becomes what it was when the fault ends; else it stays as it is."""
LEFT_SHARE = 0.6
"""What is left of the memory of a node that shrinks."""
TAINT = {"key": "stowage.dev/fault", "value": "yes", "effect": "NoSchedule"}


def delete_node(ground: Ground) -> None:
    """Delete the node; when the fault ends its pods go as well."""
    name = ground.planned_node(ground.way(*ROLES))
    ground.objects.delete("Node", name)
    ground.mend_with(partial(collect_pods, ground.bench, ground.namespace, name))


def make_unschedulable(ground: Ground) -> None:
    """Cordon the node."""
    _change(ground, {"unschedulable": True}, {"unschedulable": None})


def taint_node(ground: Ground) -> None:
    """Give the node a taint that nobody tolerates."""
    _change(ground, {"taints": [TAINT]}, {"taints": None})


def shrink_node(ground: Ground) -> None:
    """Take a part of the node's memory away; pods that run stay."""
    name = ground.planned_node(ground.way(*ROLES))
    body = next(
        body
        for body in ground.bench.observer.read(lambda state: state.bodies("Node"))
        if body["metadata"]["name"] == name
    )
    whole = body["status"]["allocatable"]["memory"]
    left = str(int(parse_memory(whole) * LEFT_SHARE))
    _resize(ground, name, left)
    if ground.chance.random() < MENDED_SHARE:
        ground.mend_with(partial(_resize, ground, name, whole))


def _change(ground: Ground, spec: object, back: object) -> None:
    name = ground.planned_node(ground.way(*ROLES))
    ground.objects.patch("Node", name, {"spec": spec})
    if ground.chance.random() < MENDED_SHARE:
        ground.mend_with(partial(ground.objects.patch, "Node", name, {"spec": back}))


def _resize(ground: Ground, name: str, memory: str) -> None:
    sizes = {"allocatable": {"memory": memory}, "capacity": {"memory": memory}}
    ground.objects.patch("Node", name, {"status": sizes}, subresource="status")
