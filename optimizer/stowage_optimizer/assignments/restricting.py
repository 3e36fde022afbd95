"""A part of the problem: some of its pods, in the room that the others leave."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from stowage_optimizer.constraints.allowances import disrupted
from stowage_optimizer.model.packing import Allowance, Assignment, Packing


def restricted(packing: Packing, members: Collection[int], assignment: Assignment) -> Packing:
    """Return the problem of ``members`` alone, in ascending order."""
    kept = sorted(members)
    others = sorted(set(range(len(packing.kind))) - set(kept))
    room = [list(amounts) for amounts in packing.room]
    staying = []
    for index in others:
        node = assignment[index]
        if node is None:
            continue
        staying.append((index, node))
        kind = packing.kinds[packing.kind[index]]
        for dimension, amount in enumerate(kind.demand):
            room[node][dimension] -= amount
    relations = packing.relations
    if relations is not None:
        of = relations.class_of
        more = tuple((of[index], node, False) for index, node in staying)
        relations = replace(relations, class_of=tuple(of[index] for index in kept), staying=(*relations.staying, *more))
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
        relations=relations,
        allowances=tuple(_allowances(packing, kept, assignment)),
    )


def _allowances(packing: Packing, kept: Sequence[int], assignment: Assignment) -> Iterator[Allowance]:
    """Yield what is left for ``kept`` of what the others have not used."""
    number = {index: at for at, index in enumerate(kept)}
    for one in packing.allowances:
        gone = disrupted(one, packing.current, assignment)
        used = sum(index not in number for index in gone)
        members = tuple(number[index] for index in one.members if index in number)
        if len(members) > one.most - used:
            yield replace(one, members=members, most=one.most - used)
