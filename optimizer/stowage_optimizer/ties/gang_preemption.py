"""Preemption for gangs: a whole plan in some milliseconds, in which high priorities take what room they need.

A scheduler makes way for one gang after the other, and whoever had to go comes back later if there is room. Here
priorities take their turns, and of each the pods that run come before those that wait. So nobody is displaced who could
stay beside them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.ties.gang_repair import GangItems, areas_of, fullness

TURNS = 3
"""How often those that run look for room: gangs that leave have made some."""


class Preemption:
    """Places pods by priority beside those of higher ones, as if nobody of a lower one were there.

    Parameters
    ----------
    wanted
        Where each pod is to be if there is room, which may break gangs.
    rng
        Draws who comes first and which nodes are made free; without, large gangs come first.
    """

    def __init__(
        self, packing: Packing, gangs: Iterable[GangItems], wanted: Assignment, rng: Random | None = None
    ) -> None:
        self.packing, self._wanted, self._rng = packing, wanted, rng
        self._rank = list(range(len(packing.room)))
        if rng is not None:
            rng.shuffle(self._rank)
        self._beside, self._now = AssignmentBuilder(packing), AssignmentBuilder(packing)
        for item, node in enumerate(wanted):
            if node is not None:
                self._now.put(item, node)
        self._gangs = defaultdict[int, list[GangItems]](list)
        for one in gangs:
            self._gangs[packing.kind_of[one.items[0]].priority].append(one)
        self._members = {item for of in self._gangs.values() for one in of for item in one.items}

    def place(self, budget: TimeBudget) -> Assignment:
        """Return where everybody is in the end; all as wanted if time is up before."""
        packing = self.packing
        for tier in packing.tiers:
            items = [item for item, kind in enumerate(packing.kind_of) if kind.priority == tier]
            self._keep([item for item in items if packing.current[item] is not None], self._gangs[tier])
            for gang in sorted(self._gangs[tier], key=self._precedence):
                if budget.over():
                    return self._wanted
                self._complete(gang)
            self._come([item for item in items if packing.current[item] is None and item not in self._members])
        return self._beside.assignment

    def _precedence(self, gang: GangItems) -> tuple[float, float]:
        if self._rng is not None:
            return self._rng.random(), 0
        return -fullness(gang, self._wanted), -len(gang.items)

    def _keep(self, running: Sequence[int], gangs: Sequence[GangItems]) -> None:
        """Let those stay that can, and give others room elsewhere; gangs that are too few then leave."""
        gone = set[int]()
        for _ in range(TURNS):
            for places in (self._wanted, self.packing.current):
                for item in running:
                    node = places[item]
                    if node is None or item in gone or self._beside.node_of(item) is not None:
                        continue
                    if self._beside.fits(item, node):
                        self._put(item, node)
            self._come([item for item in running if item not in self._members])
            left = [one for one in gangs if one.running(self.packing.current) and not self._hold(one)]
            if not left:
                return
            gone = {item for one in left for item in one.items}

    def _hold(self, gang: GangItems) -> bool:
        """Have a gang be as it should; return whether it did not have to leave for that."""
        running = gang.running(self.packing.current)
        if gang.leaves_whole and not self._stands(gang):
            self._take(running)
        for area in areas_of(gang, self._beside.assignment):
            came = list[int]()
            # Who waits comes only if the others need it.
            for items in (running, gang.items):
                came += self._come(items, area, home=not gang.leaves_whole)
                if self._stands(gang):
                    return True
            self._take(came)
        if not gang.keeps_some:
            self._take(running)
        return False

    def _stands(self, gang: GangItems) -> bool:
        return self._kept(gang) and bool(gang.nodes(self._beside.assignment))

    def _complete(self, gang: GangItems) -> None:
        """Place those of a gang that wait, if it is whole then."""
        for area in areas_of(gang, self._beside.assignment):
            waits = [item for item in gang.items if self.packing.current[item] is None]
            came = self._come(waits, area)
            if self._kept(gang):
                return
            self._take(came)

    def _kept(self, gang: GangItems) -> bool:
        return gang.kept(self.packing.current, self._beside.assignment)

    def _come(self, items: Iterable[int], area: Collection[int] | None = None, *, home: bool = True) -> list[int]:
        """Place by first fit, large pods first, where nobody below has to go if possible; return who came.

        Without ``home`` those that run do not stay there.
        """
        kind_of, current = self.packing.kind_of, self.packing.current
        waits, came = defaultdict[int, list[int]](list), list[int]()
        for item in sorted(items, key=lambda one: kind_of[one].demand, reverse=True):
            if self._beside.node_of(item) is not None:
                continue
            node = self._wanted[item]
            if (
                node is not None
                and (home or node != current[item])
                and (area is None or node in area)
                and self._beside.fits(item, node)
            ):
                self._put(item, node)
                came.append(item)
            else:
                waits[int(self.packing.kind[item])].append(item)
        for replicas in waits.values():
            for node, free in self._nodes_of(replicas[0], area):
                # Replicas differ in their homes only.
                for item in [one for one in replicas if home or node != current[one]]:
                    if not self._beside.fits(item, node) or (free and not self._now.fits(item, node)):
                        break
                    self._put(item, node)
                    replicas.remove(item)
                    came.append(item)
        return came

    def _nodes_of(self, item: int, area: Collection[int] | None) -> Iterator[tuple[int, bool]]:
        """Yield the nodes twice: those that are free first, and then all of them."""
        nodes = [node for node in self.packing.kind_of[item].eligible if area is None or node in area]
        nodes.sort(key=self._rank.__getitem__)
        for free in (True, False):
            yield from ((node, free) for node in nodes)

    def _put(self, item: int, node: int) -> None:
        self._beside.put(item, node)
        if self._now.node_of(item) != node:
            self._now.take(item)
            self._now.put(item, node)

    def _take(self, items: Iterable[int]) -> None:
        for item in items:
            self._beside.take(item)
            self._now.take(item)
