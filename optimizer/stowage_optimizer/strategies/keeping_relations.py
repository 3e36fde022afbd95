"""Whether an assignment can be carried out as it is."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.relation_repair import repair_relations


def keeps_relations(packing: Packing, assignment: Assignment) -> bool:
    """Tell whether every pod is welcome where ``assignment`` puts it, in some order.

    Room is not looked at where pods demand nothing of each other.
    """
    if packing.relations is None:
        return True
    settled = repair_relations(packing, assignment)
    # Settling seats waiting pods too, after all others; those do not matter here.
    return settled is not None and all(
        node is None or node == other
        for node, other in zip(assignment, settled, strict=True)
    )
