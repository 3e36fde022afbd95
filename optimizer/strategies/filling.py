"""Pending pods, large ones first, to the first node with room.

Pods of one kind ask for the same, and room only shrinks: the next of a kind begins
where the last one found room, so that a pass looks at each node once for each kind.
"""

from __future__ import annotations

from optimizer.model.packing import Assignment, Packing
from optimizer.strategies.layout import Layout


def filled(packing: Packing, assignment: Assignment) -> Assignment:
    """Return ``assignment`` with every pending pod placed that fits beside it.

    Higher priorities come first; pods that were evicted stay so.
    """
    layout = Layout(packing)
    waiting = []
    for index, (item, node) in enumerate(zip(packing.items, assignment, strict=True)):
        if node is not None:
            layout.put(index, node)
        elif item.home is None:
            waiting.append(index)
    if not waiting:
        return assignment
    size = _sizes(packing)
    waiting.sort(key=lambda index: (-packing.items[index].priority, -size[index]))
    # Pods of one class share one tuple of nodes, which is too long to hash each time.
    begin: dict[tuple[tuple[int, ...], int], int] = {}
    for index in waiting:
        item = packing.items[index]
        kind = (item.demand, id(item.eligible))
        place = begin.get(kind, 0)
        while place < len(item.eligible):
            if layout.fits(index, item.eligible[place]):
                layout.put(index, item.eligible[place])
                break
            place += 1
        begin[kind] = place
    return layout.assignment


def _sizes(packing: Packing) -> list[float]:
    """Return the largest share of all room that each item asks for."""
    all_room = [
        sum(max(0, amount) for amount in amounts)
        for amounts in zip(*packing.room, strict=True)
    ]
    return [
        max(
            (
                amount / max(1, room)
                for amount, room in zip(item.demand, all_room, strict=True)
            ),
            default=0.0,
        )
        for item in packing.items
    ]
