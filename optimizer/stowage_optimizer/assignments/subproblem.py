"""A part of the problem: some of its pods, in the room that the others leave."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from stowage_optimizer.model.packing import Assignment, Packing


def restricted(packing: Packing, members: Collection[int], assignment: Assignment) -> Packing:
    """Return the problem of ``members`` alone, in ascending order."""
    kept = sorted(members)
    others = sorted(set(range(len(packing.kind))) - set(kept))
    room = [list(amounts) for amounts in packing.room]
    for index in others:
        node = assignment[index]
        if node is None:
            continue
        kind = packing.kinds[packing.kind[index]]
        for dimension, amount in enumerate(kind.demand):
            room[node][dimension] -= amount
    numbers, kind = np.unique(packing.kind[kept], return_inverse=True)
    kinds = tuple(packing.kinds[number] for number in numbers)
    return replace(
        packing,
        room=tuple(map(tuple, room)),
        kinds=kinds,
        kind=kind.astype(np.int32),
        home=packing.home[kept],
        pod_uids=tuple(packing.pod_uids[index] for index in kept),
        tiers=tuple(sorted({one.priority for one in kinds}, reverse=True)),
        ties=tuple(part for tie in packing.ties if (part := tie.part(packing, kept, assignment)) is not None),
    )
