"""From a plan back to the assignment that it was written from."""

from __future__ import annotations

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan


def assignment_of(packing: Packing, plan: Plan) -> Assignment:
    """Return where every item of ``packing`` is after ``plan``."""
    index = {name: node for node, name in enumerate(packing.node_names)}
    after: dict[str, int | None] = {}
    after.update({one.pod_uid: index[one.node] for one in plan.placements})
    after.update({one.pod_uid: index[one.to_node] for one in plan.moves})
    after.update({one.pod_uid: None for one in plan.evictions})
    return tuple(after.get(item.pod_uid, item.home) for item in packing.items)
