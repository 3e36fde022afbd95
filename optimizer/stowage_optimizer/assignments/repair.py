"""Making an assignment whole: no needless moves or displaced pods, relations kept.

The solver may stop with an answer that leaves a running pod unplaced although it
fits, or moves one that could have stayed. Tier by tier from the highest, pods get the
node they are wanted on, running pods without one get any node with room, and moved
pods go home if they can. Going home frees room, so this repeats until nothing changes;
each round is better by the objective, so it ends.

Under the `STRICT` policy running pods look for room before the pending pods of their
tier are placed. So a pod that is left unplaced in the end would not fit anywhere even
without the newly placed pods of its own priority and all pods below: the rule that the
checker holds plans to.

Affinity and spread look at the pods that are there when a pod comes. So the pods that
stay are put first, then those that come, one by one, moves before placements, as long
as the next one is allowed. Pods that never are try other nodes. Waiting pods with such
demands try every node too: strategies know room only.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing

ROUNDS = 5
"""Repairing and settling may undo each other; then nothing is changed at all."""


def make_whole(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    """Return ``wanted`` repaired and settled; the present state if that fails."""
    whole = repair(packing, wanted, policy)
    if packing.relations is None:
        return whole
    for _ in range(ROUNDS):
        settled = repair_relations(packing, whole)
        if settled is None:
            break
        if settled == whole:
            return whole
        whole = repair(packing, settled, policy)
    return packing.current


def repair_relations(
    packing: Packing, wanted: Assignment, stop: Callable[[], bool] = lambda: False
) -> Assignment | None:
    """Return ``wanted`` with the pods that relations refuse elsewhere, or waiting.

    Parameters
    ----------
    packing, wanted
        The problem, and an assignment that keeps to the room there is.

    Returns
    -------
    Assignment or None
        None if a running pod would have no node for it.
    """
    given_up: set[int] = set()
    while True:
        settled, placed = _place_the_rest(packing, wanted, given_up, stop)
        late = _arrive(AssignmentBuilder(packing), packing, settled) if placed else []
        homeless = any(
            packing.current[item] is not None and wanted[item] is not None for item in (*late, *_lost(wanted, settled))
        )
        if homeless:
            return None
        if not late:
            return settled
        # They found a node, but not in the order in which a plan is carried out.
        given_up.update(late)
        wanted = tuple(None if item in given_up else node for item, node in enumerate(settled))


def _place_the_rest(
    packing: Packing, wanted: Assignment, given_up: set[int], stop: Callable[[], bool]
) -> tuple[Assignment, bool]:
    """Return ``wanted`` with other nodes for some, and whether any pod got one."""
    builder = AssignmentBuilder(packing)
    late = _arrive(builder, packing, wanted)
    waiting = [item for item in _demanding(packing) if wanted[item] is None]
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


def _arrive(builder: AssignmentBuilder, packing: Packing, wanted: Assignment) -> list[int]:
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


def _demanding(packing: Packing) -> list[int]:
    relations = packing.relations
    if relations is None:
        return []
    return [index for index, class_id in enumerate(relations.class_of) if class_id in relations.rules]


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
        relations, placed = self._packing.relations, self._packing.kind_of[item]
        class_id = "" if relations is None else relations.class_of[item]
        alike = class_id, placed.demand, placed.eligible
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
            elif self._builder.relations_allow(item, node):
                yield node


def _may_come(builder: AssignmentBuilder, item: int, node: int) -> bool:
    return builder.fits(item, node) and builder.relations_allow(item, node)


def keeps_relations(packing: Packing, assignment: Assignment) -> bool:
    """Return whether relations allow every pod its node, in some order of arrival.

    Room is not checked if there are no relations.
    """
    if packing.relations is None:
        return True
    settled = repair_relations(packing, assignment)
    # The repair places waiting pods too, after all others; they do not matter here.
    return settled is not None and all(
        node is None or node == other for node, other in zip(assignment, settled, strict=True)
    )


def repair(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    """Return ``wanted`` with running pods put back, or home, where they fit.

    Parameters
    ----------
    wanted
        The assignment to start from; where pods of different tiers clash, those of
        the higher tier win.
    policy
        Whether a running pod may push out a pending one of its own priority.
    """
    while (whole := _one_round(packing, wanted, policy)) != wanted:
        wanted = whole
    return wanted


def _one_round(packing: Packing, wanted: Assignment, policy: Policy) -> Assignment:
    builder = AssignmentBuilder(packing)
    for tier in packing.tiers:
        members = [index for index, kind in enumerate(packing.kind_of) if kind.priority == tier]
        running = [i for i in members if packing.current[i] is not None]
        pending = [i for i in members if packing.current[i] is None]
        _put_where_wanted(builder, wanted, running)
        if policy is Policy.STRICT:
            _put_anywhere(packing, builder, running)
            _put_where_wanted(builder, wanted, pending)
        else:
            _put_where_wanted(builder, wanted, pending)
            _put_anywhere(packing, builder, running)
        _send_home(packing, builder, running)
    return builder.assignment


def _put_where_wanted(builder: AssignmentBuilder, wanted: Assignment, members: Sequence[int]) -> None:
    for item in members:
        node = wanted[item]
        if node is not None and builder.fits(item, node):
            builder.put(item, node)


def _put_anywhere(packing: Packing, builder: AssignmentBuilder, members: Sequence[int]) -> None:
    # Large pods first: small ones find room more easily.
    for item in sorted(members, key=lambda i: packing.kind_of[i].demand, reverse=True):
        if builder.node_of(item) is None:
            home = packing.current[item]
            nodes = packing.kind_of[item].eligible
            for node in sorted(nodes, key=lambda node: node != home):
                if builder.fits(item, node):
                    builder.put(item, node)
                    break


def _send_home(packing: Packing, builder: AssignmentBuilder, members: Sequence[int]) -> None:
    for item in members:
        home, node = packing.current[item], builder.node_of(item)
        if node is None or home is None or node == home:
            continue
        builder.take(item)
        builder.put(item, home if builder.fits(item, home) else node)
