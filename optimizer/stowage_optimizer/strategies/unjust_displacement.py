"""Unjust displacement: evictions that the strict policy forbids."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.assignment_builder import AssignmentBuilder


def has_unjust_displacement(packing: Packing, assignment: Assignment) -> bool:
    """Return whether a pod is evicted that could stay beside the higher-priority pods.

    Pods of its own priority that were running count among these.
    """
    builders: dict[int, AssignmentBuilder] = {}
    for index, item in enumerate(packing.items):
        if item.home is None or assignment[index] is not None:
            continue
        if item.priority not in builders:
            builders[item.priority] = _higher_priority(
                packing, assignment, item.priority
            )
        builder = builders[item.priority]
        if any(
            builder.fits(index, node)
            and (node == item.home or builder.relations_allow(index, node))
            for node in item.eligible
        ):
            return True
    return False


def _higher_priority(
    packing: Packing, assignment: Assignment, priority: int
) -> AssignmentBuilder:
    """Return the pods above ``priority``, and those that run at it."""
    builder = AssignmentBuilder(packing)
    for index, item in enumerate(packing.items):
        node = assignment[index]
        equal = item.priority == priority and item.home is not None
        if node is not None and (equal or item.priority > priority):
            builder.put(index, node)
    return builder
