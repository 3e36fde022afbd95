"""`first-fit-decreasing`: pending pods, large ones first, to the first node with room.

Nobody moves and nobody goes. Pods of one kind ask for the same, and room only shrinks:
the next of a kind begins where the last one found room, so that a pass looks at each
node once for each kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from optimizer.constraints.reduction import reduce_snapshot
from optimizer.model.options import SolveOptions
from optimizer.model.packing import Assignment, Packing
from optimizer.model.plan import Plan
from optimizer.model.snapshot import Snapshot
from optimizer.strategies.bounds import trivial_bounds
from optimizer.strategies.incumbent import Incumbent
from optimizer.strategies.layout import Layout
from optimizer.strategies.planning import PlanWriter
from optimizer.strategies.strategy import Answer, Clock, end_reason_of


@dataclass(frozen=True, slots=True)
class FirstFitDecreasing:
    """The textbook's heuristic, tier by tier."""

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the plan; see `Strategy.solve`. It needs no limit."""
        packing = reduce_snapshot(snapshot)
        writer = PlanWriter(snapshot, packing, options.policy)
        incumbent = Incumbent(packing, trivial_bounds(packing), writer, publish)
        publish(incumbent.plan())
        incumbent.offer(first_fit(packing))
        plan = incumbent.plan()
        return Answer(plan, end_reason_of(plan), packing.refusals)


def first_fit(packing: Packing) -> Assignment:
    """Return the current placement and whoever fits beside it."""
    layout = Layout(packing)
    pending = []
    for index, item in enumerate(packing.items):
        if item.home is None:
            pending.append(index)
        else:
            layout.put(index, item.home)
    size = _sizes(packing)
    pending.sort(key=lambda index: (-packing.items[index].priority, -size[index]))
    # Pods of one class share one tuple of nodes, which is too long to hash each time.
    begin: dict[tuple[tuple[int, ...], int], int] = {}
    for index in pending:
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
