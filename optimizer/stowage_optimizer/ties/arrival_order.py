"""Having pods come one by one, as they do when a plan is carried out.

Affinity and spread look at the pods that are there when a pod comes. So the pods that
stay are put first, then those that come, one by one, moves before placements, as long
as the next one is allowed. Pods that never are try other nodes. Waiting pods with such
demands try every node too: strategies know room only.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing


def settled(
    packing: Packing, wanted: Assignment, demanding: Sequence[int], stop: Callable[[], bool] = lambda: False
) -> Assignment | None:
    """Return ``wanted`` with the pods that relations refuse elsewhere, or waiting.

    Parameters
    ----------
    packing, wanted
        The problem, and an assignment that keeps to the room there is.
    demanding
        The items for which other nodes are tried where they wait.

    Returns
    -------
    Assignment or None
        None if a running pod would have no node for it.
    """
    given_up: set[int] = set()
    while True:
        found, placed = _place_the_rest(packing, wanted, demanding, given_up, stop)
        late = arrive(AssignmentBuilder(packing), packing, found) if placed else []
        homeless = any(
            packing.current[item] is not None and wanted[item] is not None for item in (*late, *_lost(wanted, found))
        )
        if homeless:
            return None
        if not late:
            return found
        # They found a node, but not in the order in which a plan is carried out.
        given_up.update(late)
        wanted = tuple(None if item in given_up else node for item, node in enumerate(found))


def _place_the_rest(
    packing: Packing, wanted: Assignment, demanding: Sequence[int], given_up: set[int], stop: Callable[[], bool]
) -> tuple[Assignment, bool]:
    """Return ``wanted`` with other nodes for some, and whether any pod got one."""
    builder = AssignmentBuilder(packing)
    late = arrive(builder, packing, wanted)
    waiting = [item for item in demanding if wanted[item] is None]
    rest = {*late, *waiting} - given_up
    places = _OpenNodes(packing, builder, stop)
    placed = False
    for item in sorted(rest, key=lambda one: (-packing.kind_of[one].priority, one)):
        placed = places.place(item) or placed
    return builder.assignment, placed


def _lost(wanted: Assignment, settled: Assignment) -> list[int]:
    """Return the items that had a node and have none."""
    return [
        item for item, (one, other) in enumerate(zip(wanted, settled, strict=True)) if one is not None and other is None
    ]


def arrive(builder: AssignmentBuilder, packing: Packing, wanted: Assignment) -> list[int]:
    """Put all allowed pods in a plan's order; return those that never were."""
    moves, placements = _put_who_stays(packing, builder, wanted)
    return _put_who_comes(builder, wanted, [*moves, *placements])


def _put_who_stays(packing: Packing, builder: AssignmentBuilder, wanted: Assignment) -> tuple[list[int], list[int]]:
    """Put the pods that stay; return those that move and those that are placed."""
    moves: list[int] = []
    placements: list[int] = []
    for index, (home, node) in enumerate(zip(packing.current, wanted, strict=True)):
        if node is None:
            continue
        if node == home:
            builder.put(index, node)
        else:
            (placements if home is None else moves).append(index)
    return moves, placements


def _put_who_comes(builder: AssignmentBuilder, wanted: Assignment, coming: Sequence[int]) -> list[int]:
    """Put pods in turns while allowed; return those that never were."""
    left = list(coming)
    while True:
        late = []
        for item in left:
            node = wanted[item]
            if node is not None and _may_come(builder, item, node):
                builder.put(item, node)
            else:
                late.append(item)
        if len(late) == len(left):
            return late
        left = late


class _OpenNodes:
    """Places pods one by one, and passes over nodes that are full for their kind.

    Room only gets scarcer with each pod, and so does what anti-affinity leaves: a node
    that is full for one pod is full for all that are like it and come later.
    """

    def __init__(self, packing: Packing, builder: AssignmentBuilder, stop: Callable[[], bool]) -> None:
        self._packing = packing
        self._builder = builder
        self._stop = stop
        self._open: dict[Hashable, dict[int, None]] = {}

    def place(self, item: int) -> bool:
        """Put ``item`` home, or on any node that is open to it."""
        builder, home = self._builder, self._packing.current[item]
        if home is not None and builder.fits(item, home):
            builder.put(item, home)
            return True
        nodes, full = self._open_to(item), list[int]()
        node = next(self._allowed(item, nodes, full), None)
        for one in full:
            del nodes[one]
        if node is not None:
            builder.put(item, node)
        return node is not None

    def _open_to(self, item: int) -> dict[int, None]:
        placed = self._packing.kind_of[item]
        alike = self._packing.class_ids[item], placed.demand, placed.eligible
        if alike not in self._open:
            self._open[alike] = dict.fromkeys(placed.eligible)
        return self._open[alike]

    def _allowed(self, item: int, nodes: Iterable[int], full: list[int]) -> Iterator[int]:
        """Yield the nodes to which ``item`` may come; collect the full ones."""
        for node in nodes:
            if self._stop():
                return
            if node == self._packing.current[item]:
                continue
            if not self._builder.fits(item, node):
                full.append(node)
            elif self._builder.ties_allow(item, node):
                yield node


def _may_come(builder: AssignmentBuilder, item: int, node: int) -> bool:
    return builder.fits(item, node) and builder.ties_allow(item, node)
