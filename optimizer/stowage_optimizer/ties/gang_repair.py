"""Mending gangs: those that an assignment breaks are completed, taken off, or put back."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.time_budget import TimeBudget


@dataclass(frozen=True, slots=True)
class GangItems:
    """What a plan may change of a gang.

    Parameters
    ----------
    items
        Indices, ascending.
    fixed
        The nodes of its other pods that have one.
    domain_of
        By node the domain that all of its pods share, `NOWHERE` where there is none; empty if they may be anywhere.
    changed
        Whether its other pods are elsewhere than they were, so that it cannot stay as it was.
    stays, left
        Whether a pod of it that runs, and is not among its items, stays; or has left its node. If they leave as a
        whole, the items have to do the same.
    """

    items: tuple[int, ...]
    fixed: tuple[int, ...]
    least: int
    leaves_whole: bool = False
    domain_of: tuple[int, ...] = ()
    changed: bool = False
    stays: bool = False
    left: bool = False

    @property
    def keeps_some(self) -> bool:
        """Whether it cannot leave as a whole."""
        return (self.leaves_whole and self.stays) or 0 < len(self.fixed) < self.least

    def running(self, current: Assignment) -> list[int]:
        """Return the items that have a node now."""
        return [one for one in self.items if current[one] is not None]

    def nodes(self, assignment: Sequence[int | None]) -> list[int]:
        """Return the nodes of its pods."""
        return [*self.fixed, *(node for one in self.items if (node := assignment[one]) is not None)]

    def kept(self, current: Assignment, assignment: Sequence[int | None]) -> bool:
        """Return whether it is as it should be, or as it was."""
        as_it_was = not self.changed and all(assignment[one] == current[one] for one in self.items)
        return as_it_was or self.sound(current, assignment)

    def sound(self, current: Assignment, assignment: Sequence[int | None]) -> bool:
        """Return whether enough of its pods have a node and go or stay as they should; or none has."""
        nodes = self.nodes(assignment)
        if not nodes:
            return True
        if len(nodes) < self.least:
            return False
        if self.domain_of:
            domains = {self.domain_of[node] for node in nodes}
            if len(domains) > 1 or NOWHERE in domains:
                return False
        if not self.leaves_whole:
            return True
        running = self.running(current)
        stay = sum(assignment[one] == current[one] for one in running)
        return (stay == len(running) and not self.left) or not (stay or self.stays)


def fullness(gang: GangItems, assignment: Assignment) -> float:
    """Return which share of the pods that it needs has a node."""
    return min(1.0, len(gang.nodes(assignment)) / gang.least)


def areas_of(gang: GangItems, assignment: Assignment) -> Iterator[Collection[int] | None]:
    """Yield the nodes that it may come to, of one domain after the other; None is anywhere."""
    if not gang.domain_of:
        yield None
        return
    there = Counter(gang.domain_of[node] for node in gang.nodes(assignment))
    counts = Counter(one for one in gang.domain_of if one != NOWHERE)
    for domain in there or [one for one, _ in counts.most_common()]:
        yield {node for node, one in enumerate(gang.domain_of) if one == domain}


class GangRepair:
    """An assignment in which gangs are completed, taken off, or put back.

    One that takes pods off their nodes may take more of them, of lower priority, to complete a gang.
    """

    def __init__(self, packing: Packing, assignment: Assignment) -> None:
        self.packing, self.wanted = packing, assignment
        self.builder = AssignmentBuilder(packing)
        for item, node in enumerate(assignment):
            if node is not None:
                self.builder.put(item, node)
        pairs = zip(packing.current, assignment, strict=True)
        self._displaces = any(home is not None and node != home for home, node in pairs)

    def settle(self, broken: Iterable[GangItems], budget: TimeBudget) -> None:
        """Make room first, then see to those of high priority and those that lack least."""
        current, kind_of = self.packing.current, self.packing.kind_of
        ranked = sorted(broken, key=lambda one: (-kind_of[one.items[0]].priority, -fullness(one, self.wanted)))
        left = [one for one in ranked if not (one.leaves_whole and not one.stays and self._exchange(one))]
        for one in left:
            for item in one.items:
                if current[item] is None:
                    self.builder.take(item)
        for one in left:
            self._settle(one, complete=not budget.over())

    def _exchange(self, gang: GangItems) -> bool:
        """Have replicas exchange their nodes until none stays; return whether that mends the gang."""
        builder = self.builder
        before = {item: builder.node_of(item) for item in gang.items}
        replicas: defaultdict[int, dict[int, int | None]] = defaultdict(dict)
        for item, node in before.items():
            replicas[int(self.packing.kind[item])][item] = node
        after = {
            item: node
            for nodes in replicas.values()
            for item, node in _exchanged(nodes, self.packing.current).items()
            if node != before[item]
        }
        for item in after:
            builder.take(item)
        for item, node in after.items():
            if node is not None and node in self.packing.kind_of[item].eligible and builder.fits(item, node):
                builder.put(item, node)
        if self._kept(gang):
            return True
        for item in after:
            builder.take(item)
            if (node := before[item]) is not None:
                builder.put(item, node)
        return False

    def place_whole(self, gangs: Iterable[GangItems], budget: TimeBudget) -> None:
        """Place gangs none of whose pods has a node, those of high priority and of many pods first."""
        kind_of = self.packing.kind_of
        for one in sorted(gangs, key=lambda one: (-kind_of[one.items[0]].priority, -len(one.items))):
            if budget.over():
                return
            if not one.nodes(self.builder.assignment):
                self._complete(one, pressing=False)

    def _settle(self, gang: GangItems, *, complete: bool) -> None:
        current, running = self.packing.current, gang.running(self.packing.current)
        away = gang.leaves_whole and not gang.stays
        homeless = [item for item in running if gang.leaves_whole or self.builder.node_of(item) is None]
        for item in homeless:
            self.builder.take(item)
        if not self._go_home(homeless) and away:
            for item in running:
                self.builder.take(item)
        if complete and not self._kept(gang):
            self._complete(gang, pressing=False)
        if complete and self._displaces and not self._kept(gang):
            self._complete(gang, pressing=True)
        if self._kept(gang):
            return
        if not gang.fixed and self._makes_way(gang):
            for item in running:
                self.builder.take(item)
            return
        for item in running:
            self.builder.take(item)
        for item in running:
            self._push_home(item, current[item])

    def _kept(self, gang: GangItems) -> bool:
        return gang.kept(self.packing.current, self.builder.assignment)

    def _go_home(self, items: Iterable[int]) -> bool:
        """Put those home that fit there; return whether all do."""
        every = True
        for item in items:
            home = self.packing.current[item]
            if home is not None and self.builder.fits(item, home):
                self.builder.put(item, home)
            else:
                every = False
        return every

    def _complete(self, gang: GangItems, *, pressing: bool) -> None:
        """Place what has no node, if that makes the gang whole; when ``pressing``, in place of lower priority too."""
        for nodes in areas_of(gang, self.builder.assignment):
            lower, gone = self._lower(gang) if pressing else {}, dict[int, int]()
            placed = self._fill(gang, nodes, lower, gone)
            if self._kept(gang) and gang.nodes(self.builder.assignment):
                return
            for item in placed:
                self.builder.take(item)
            for item, node in gone.items():
                self.builder.put(item, node)

    def _lower(self, gang: GangItems) -> Mapping[int, list[int]]:
        """Return by node the items of lower priority than a gang's: the lowest first, and newcomers before others."""
        kind_of, current = self.packing.kind_of, self.packing.current
        priority, found = kind_of[gang.items[0]].priority, defaultdict[int, list[int]](list)
        ranked = sorted(range(len(kind_of)), key=lambda one: (kind_of[one].priority, current[one] is not None))
        for item in ranked:
            node = self.builder.node_of(item)
            if node is not None and kind_of[item].priority < priority:
                found[node].append(item)
        return found

    def _fill(
        self, gang: GangItems, nodes: Collection[int] | None, lower: Mapping[int, list[int]], gone: dict[int, int]
    ) -> list[int]:
        """Place items of a gang by first fit, and return which; note those of ``lower`` that are ``gone`` for that."""
        builder, current, kind_of = self.builder, self.packing.current, self.packing.kind_of
        waits: defaultdict[int, list[int]] = defaultdict(list)
        for item in sorted(gang.items, key=lambda one: (current[one] is None, [-each for each in kind_of[one].demand])):
            if builder.node_of(item) is None:
                waits[int(self.packing.kind[item])].append(item)
        placed = []
        for items in waits.values():
            # Room only gets scarcer: replicas go through the nodes once.
            for node in self._nodes_of(items, nodes):
                while items and (
                    self._may_come(gang, items[0], node) or self._press(gang, items[0], node, lower, gone)
                ):
                    builder.put(items[0], node)
                    placed.append(items.pop(0))
                if not items:
                    break
        return placed

    def _press(
        self, gang: GangItems, item: int, node: int, lower: Mapping[int, list[int]], gone: dict[int, int]
    ) -> bool:
        """Take pods of lower priority off a node until ``item`` may come; return whether it may."""
        if node not in lower or (node == self.packing.current[item] and gang.leaves_whole):
            return False
        there, builder = lower[node], self.builder
        for number, one in enumerate(there, 1):
            builder.take(one)
            if builder.fits(item, node):
                gone |= dict.fromkeys(there[:number], node)
                del there[:number]
                return True
        for one in there:
            builder.put(one, node)
        return False

    def _nodes_of(self, items: Sequence[int], nodes: Collection[int] | None) -> Iterator[int]:
        """Yield where they may come to, first where they were wanted."""
        eligible = self.packing.kind_of[items[0]].eligible
        wanted = {node for item in items if (node := self.wanted[item]) is not None}
        for node in sorted(eligible, key=lambda one: one not in wanted):
            if nodes is None or node in nodes:
                yield node

    def _may_come(self, gang: GangItems, item: int, node: int) -> bool:
        stays = node == self.packing.current[item]
        return not (stays and gang.leaves_whole) and self.builder.fits(item, node)

    def _makes_way(self, gang: GangItems) -> bool:
        """Return whether a pod of higher priority gains."""
        packing, priority = self.packing, self.packing.kind_of[gang.items[0]].priority
        return any(
            home is None and node is not None and kind.priority > priority
            for kind, home, node in zip(packing.kind_of, packing.current, self.builder.assignment, strict=True)
        )

    def _push_home(self, item: int, home: int | None) -> None:
        """Put ``item`` home; those that came there make way, those of low priority first."""
        if home is None:
            return
        packing, builder = self.packing, self.builder
        came = [one for one, node in enumerate(builder.assignment) if node == home and packing.current[one] != home]
        came.sort(key=lambda one: packing.kind_of[one].priority, reverse=True)
        while came and not builder.fits(item, home):
            builder.take(came.pop())
        builder.put(item, home)


def _exchanged(nodes: dict[int, int | None], current: Assignment) -> dict[int, int | None]:
    """Return ``nodes`` of replicas, exchanged so that as few as possible have the node that they had."""
    # Others that have a node already come first: nobody else has to leave then.
    others = sorted(nodes, key=lambda item: nodes[item] is None)
    for item, node in nodes.items():
        if node is None or node != current[item]:
            continue
        for other in others:
            if node not in (current[other], nodes[other]):
                nodes[item], nodes[other] = nodes[other], node
                break
    return nodes
