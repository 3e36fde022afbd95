"""Who comes to which node for devices, in an assignment."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.search.device_nodes import arranger_of


def members_by_node(packing: Packing, assignment: Assignment, items: Sequence[int]) -> Mapping[int, list[int]]:
    """Return by node those of ``items`` that are there and ask for devices, whether they come or stay."""
    asking = np.array([bool(kind.requests) for kind in packing.kinds], np.bool_)[packing.kind]
    members: defaultdict[int, list[int]] = defaultdict(list)
    for item in items:
        node = assignment[item]
        if node is not None and asking[item]:
            members[node].append(item)
    return members


def can_come(packing: Packing, assignment: Assignment) -> bool:
    """Return whether on every node an order is known in which first fit has devices for those that come."""
    arranger = arranger_of(packing.problem)
    if arranger is None:
        return True
    members = members_by_node(packing, assignment, range(len(assignment)))
    return all(arranger.fits(node, here) for node, here in members.items())
