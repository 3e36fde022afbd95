"""A part of the problem: some of its pods, in the room that the others leave."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from stowage_optimizer.assignments.device_order import members_by_node
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import Indices
from stowage_optimizer.search.device_nodes import arranger_of


def restricted(packing: Packing, members: Collection[int], assignment: Assignment) -> Packing:
    """Return the problem of ``members`` alone, in ascending order."""
    kept = sorted(members)
    others = sorted(set(range(len(packing.kind))).difference(kept))
    room = [list(amounts) for amounts in packing.room]
    for index in others:
        node = assignment[index]
        if node is None:
            continue
        kind = packing.kinds[packing.kind[index]]
        for dimension, amount in enumerate(kind.demand):
            room[node][dimension] -= amount
    bins = None
    if packing.bins is not None and any(packing.kind_of[index].requests for index in kept):
        bins = packing.bins.beside(kept, list(_devices_of(packing, others, assignment)))
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
        bins=bins,
        ties=tuple(part for tie in packing.ties if (part := tie.part(packing, kept, assignment)) is not None),
    )


def _devices_of(packing: Packing, others: Sequence[int], assignment: Assignment) -> Iterator[tuple[int, Indices]]:
    """Yield the node and the options of each of ``others`` that has devices.

    Those that come get what they get if they come in an order that suits all of them.
    """
    arranger, bins = arranger_of(packing.problem), packing.problem.bins
    if arranger is None or bins is None:
        return
    for node, here in members_by_node(packing, assignment, others).items():
        for item in here:
            if packing.current[item] == node:
                yield node, bins.home_option[bins.home[item] : bins.home[item + 1]]
        for _, options in arranger.given(node, here):
            yield node, bins.option[options]
