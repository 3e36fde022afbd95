"""A part of the problem: some of its pods, in the room that the others leave."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from stowage_optimizer.constraints.allowances import disrupted
from stowage_optimizer.model.packing import Allowance, Assignment, Packing


def restricted(
    packing: Packing, members: Collection[int], assignment: Assignment
) -> Packing:
    """Return the problem of ``members`` alone, in ascending order."""
    kept = sorted(members)
    others = sorted(set(range(len(packing.items))) - set(kept))
    room = [list(amounts) for amounts in packing.room]
    staying = []
    for index in others:
        node = assignment[index]
        if node is None:
            continue
        staying.append((index, node))
        for dimension, amount in enumerate(packing.items[index].demand):
            room[node][dimension] -= amount
    relations = packing.relations
    if relations is not None:
        of = relations.class_of
        more = tuple((of[index], node, False) for index, node in staying)
        relations = replace(
            relations,
            class_of=tuple(of[index] for index in kept),
            staying=(*relations.staying, *more),
        )
    items = tuple(packing.items[index] for index in kept)
    return replace(
        packing,
        room=tuple(map(tuple, room)),
        items=items,
        tiers=tuple(sorted({item.priority for item in items}, reverse=True)),
        relations=relations,
        allowances=tuple(_allowances(packing, kept, assignment)),
    )


def _allowances(
    packing: Packing, kept: Sequence[int], assignment: Assignment
) -> Iterator[Allowance]:
    """Yield what is left for ``kept`` of what the others have not used."""
    number = {index: at for at, index in enumerate(kept)}
    for one in packing.allowances:
        gone = disrupted(one, packing.items, assignment)
        used = sum(index not in number for index in gone)
        members = tuple(number[index] for index in one.members if index in number)
        if len(members) > one.most - used:
            yield replace(one, members=members, most=one.most - used)
