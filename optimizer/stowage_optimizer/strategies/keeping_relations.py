"""Whether an assignment can be carried out as it is."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.strategies.relation_repair import repair_relations


def keeps_relations(packing: Packing, assignment: Assignment) -> bool:
    """Return whether relations allow every pod its node, in some order of arrival.

    Room is not checked if there are no relations.
    """
    if packing.relations is None:
        return True
    settled = repair_relations(packing, assignment)
    # The repair places waiting pods too, after all others; they do not matter here.
    return settled is not None and all(
        node is None or node == other
        for node, other in zip(assignment, settled, strict=True)
    )
