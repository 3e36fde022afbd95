"""Gangs: pods of which enough have a node, or none has.

A gang of which fewer run already stays as it is, until a plan completes it or takes all of
its pods off: no plan takes one more pod away, nor adds one that does not complete it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.pods import TERMINATING
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.tie import STAYS, KindVariables, Leaving, Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget

ROUNDS = 4
"""Rounds of repairing gangs, of which one may push out another; then nothing is changed at all."""

LEFT_OUT = 1 / 8
"""Chance that a whole gang stays as it is, when others are tried."""


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
    """

    items: tuple[int, ...]
    fixed: tuple[int, ...]
    least: int
    leaves_whole: bool = False
    domain_of: tuple[int, ...] = ()
    changed: bool = False

    @property
    def keeps_some(self) -> bool:
        """Whether it cannot leave as a whole."""
        return bool(self.fixed) and (self.leaves_whole or len(self.fixed) < self.least)

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
        stays = sum(assignment[one] == current[one] for one in running)
        return stays == len(running) or not (stays or self.fixed)


def gang_tie(packing: Packing) -> Tie | None:
    """Return the gangs of a problem; or nothing."""
    snapshot = packing.snapshot
    if not snapshot.gangs:
        return None
    gang_of = {class_id: one.gang for class_id, one in snapshot.classes.items()}
    items: defaultdict[str, list[int]] = defaultdict(list)
    for item, class_id in enumerate(packing.class_ids):
        items[gang_of[class_id]].append(item)
    fixed: defaultdict[str, list[int]] = defaultdict(list)
    number, pods = {name: at for at, name in enumerate(packing.node_names)}, snapshot.pods
    for at in packing.staying:
        # The scheduler still counts a pod that is terminating; a plan had better not.
        if pods.immovable_reason[at] != TERMINATING:
            fixed[gang_of[pods.class_id[at]]].append(number[pods.node[at]])
    found = tuple(
        GangItems(
            tuple(items[name]),
            tuple(fixed[name]),
            gang.min_count,
            gang.leaves_whole,
            _domains(packing, gang.topology_key),
        )
        for name, gang in snapshot.gangs.items()
        if items[name] and (gang.min_count > 1 or gang.leaves_whole or gang.topology_key)
    )
    return GangTie(found) if found else None


def _domains(packing: Packing, key: str) -> tuple[int, ...]:
    if not key:
        return ()
    values = [node.labels.get(key) for node in packing.snapshot.nodes]
    number = {value: at for at, value in enumerate(dict.fromkeys(values)) if value is not None}
    return tuple(NOWHERE if value is None else number[value] for value in values)


@dataclass(frozen=True)
class GangTie(Tie):
    """Of every gang enough pods have a node, or none."""

    gangs: tuple[GangItems, ...]

    @property
    def protected(self) -> Collection[int]:  # type: ignore[override] # read only
        """The pods of gangs that cannot make way as a whole."""
        return {item for one in self.gangs if one.keeps_some for item in one.items}

    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether each gang is as it should be, or as it was."""
        return all(one.kept(packing.current, assignment) for one in self.gangs)

    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Return ``assignment`` with broken gangs completed, taken off, or as they were."""
        if self.keeps(packing, assignment):
            return assignment
        repair = _Repair(packing, assignment)
        for _ in range(ROUNDS):
            broken = [one for one in self.gangs if not one.kept(packing.current, repair.builder.assignment)]
            if not broken:
                return repair.builder.assignment
            repair.settle(broken, budget)
        return packing.current

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Have the gangs that a proposal breaks stay as they are, but the fullest one of each priority."""
        del budget
        pins: dict[int, Collection[int]] = {}
        fullest: dict[int, GangItems] = {}
        for one in self.gangs:
            if not one.kept(packing.current, proposal):
                priority = packing.kind_of[one.items[0]].priority
                before = fullest.setdefault(priority, one)
                if _fullness(one, proposal) > _fullness(before, proposal):
                    fullest[priority] = one
        for one in self.gangs:
            kept = one.kept(packing.current, proposal)
            if rng is None:
                stays = not kept and one not in fullest.values()
            else:
                stays = rng.random() < (LEFT_OUT if kept else 1 - _fullness(one, proposal) / 2)
            if stays:
                pins |= dict.fromkeys(one.items, STAYS)
            elif one.domain_of:
                pins |= dict.fromkeys(one.items, _domain_of(packing, one, proposal, rng))
            elif one.leaves_whole and not kept:
                pins |= dict.fromkeys(one.running(packing.current), STAYS)
        return pins

    def write(self, packing: Packing, rows: Rows) -> None:
        """Write a few rows for each gang."""
        for one in self.gangs:
            names = dict.fromkeys(packing.class_ids[item] for item in one.items)
            kinds = [kind for name in names for kind in rows.kinds.get(name, ())]
            if kinds:
                _GangRows(one, kinds, rows).add(as_it_was=not one.sound(packing.current, packing.current))

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie | None:
        """Count those that are elsewhere."""
        number = {index: at for at, index in enumerate(members)}
        left = []
        for one in self.gangs:
            others = [item for item in one.items if item not in number]
            left.append(
                replace(
                    one,
                    items=tuple(number[item] for item in one.items if item in number),
                    fixed=(*one.fixed, *(node for item in others if (node := assignment[item]) is not None)),
                    changed=one.changed or any(assignment[item] != packing.current[item] for item in others),
                )
            )
        gangs = tuple(one for one in left if one.items)
        return GangTie(gangs) if gangs else None

    def leaving(self, packing: Packing, assignment: Assignment) -> Iterator[Leaving]:
        """Yield the gangs that lose pods for reasons of their own: all of them leave, or all share a domain."""
        for one in self.gangs:
            gone = [item for item in one.running(packing.current) if assignment[item] is None]
            if not gone:
                continue
            if not one.nodes(assignment):
                needed = len(gone) if one.leaves_whole else min(one.least, len(gone))
                yield Leaving(gone, needed)
            elif one.leaves_whole or one.domain_of:
                yield Leaving(gone, len(gone) + 1)


def _fullness(gang: GangItems, assignment: Assignment) -> float:
    return min(1.0, len(gang.nodes(assignment)) / gang.least)


def _domain_of(packing: Packing, gang: GangItems, proposal: Assignment, rng: Random | None) -> frozenset[int]:
    """Return the nodes of the domain that a gang is in, or mostly in, or of one by chance."""
    domain_of = gang.domain_of
    counts = Counter(domain_of[node] for node in gang.fixed or gang.nodes(proposal))
    eligible = packing.kind_of[gang.items[0]].eligible
    known = [*dict.fromkeys(domain_of[node] for node in eligible if domain_of[node] != NOWHERE)]
    if not gang.fixed and rng is not None and known:
        domain = rng.choice(known)
    else:
        domain = max(counts or known, key=lambda one: counts[one], default=NOWHERE)
    return frozenset(node for node, one in enumerate(domain_of) if one == domain and one != NOWHERE)


class _GangRows:
    """Rows about one gang.

    Parameters
    ----------
    kinds
        The variables of its pods.
    """

    def __init__(self, gang: GangItems, kinds: Sequence[KindVariables], rows: Rows) -> None:
        self.gang, self.rows = gang, rows
        self.stay = [variable for kind in kinds for variable in kind.stay.values()]
        self.come = [variable for kind in kinds for variable in kind.come.values()]
        self.at = [
            (node, variable) for kind in kinds for one in (kind.stay, kind.come) for node, variable in one.items()
        ]
        self.running = sum(kind.running for kind in kinds)
        self._as_it_was: int | None = None

    def add(self, *, as_it_was: bool) -> None:
        """Add them; ``as_it_was`` if it may only stay so as an exception."""
        gang, there = self.gang, [*self.stay, *self.come]
        if as_it_was and not gang.changed:
            self._add_exception()
        need = gang.least - len(gang.fixed)
        if gang.fixed:
            self._at_most([(one, -1) for one in there], -need, unless=need)
        else:
            self._at_most([(self.rows.any_of(there), need), *((one, -1) for one in there)], 0, unless=need)
        if gang.leaves_whole and self.running and not gang.changed:
            stays = [(one, -1) for one in self.stay]
            if gang.fixed:
                self._at_most(stays, -self.running)
            else:
                self._at_most([(self.rows.any_of(self.stay), self.running), *stays], 0)
        if gang.domain_of:
            self._add_domains()

    def _add_exception(self) -> None:
        """Add a variable that is 1 if everything is as it was."""
        stay, come, size = self.stay, self.come, len(self.gang.items)
        running = self.running

        def holds(values: Sequence[int]) -> bool:
            return sum(values[one] for one in stay) == running and not any(values[one] for one in come)

        self._as_it_was = self.rows.derived(holds)
        self._at_most([(self._as_it_was, running), *((one, -1) for one in stay)], 0)
        self._at_most([(self._as_it_was, size), *((one, 1) for one in come)], size)

    def _add_domains(self) -> None:
        """Have all pods in one domain."""
        gang, size = self.gang, len(self.gang.items)
        domains = {gang.domain_of[node] for node in gang.fixed}
        variables: defaultdict[int, list[int]] = defaultdict(list)
        for node, variable in self.at:
            variables[gang.domain_of[node]].append(variable)
        for domain, some in variables.items():
            if domain == NOWHERE or (domains and domains != {domain}):
                self._at_most([(one, 1) for one in some], 0, unless=size)
        if not domains:
            found = [(self.rows.any_of(some), 1) for some in variables.values()]
            self._at_most(found, 1, unless=len(found))

    def _at_most(self, terms: Iterable[tuple[int, int]], limit: int, unless: int = 0) -> None:
        """Add a row that is ``unless`` wider where everything is as it was."""
        exception = [] if self._as_it_was is None or not unless else [(self._as_it_was, -unless)]
        self.rows.program.at_most([*terms, *exception], limit)


class _Repair:
    """An assignment in which gangs are completed, taken off, or put back."""

    def __init__(self, packing: Packing, assignment: Assignment) -> None:
        self.packing, self.wanted = packing, assignment
        self.builder = AssignmentBuilder(packing)
        for item, node in enumerate(assignment):
            if node is not None:
                self.builder.put(item, node)

    def settle(self, broken: Iterable[GangItems], budget: TimeBudget) -> None:
        """Make room first, then see to those of high priority and those that lack least."""
        current, kind_of = self.packing.current, self.packing.kind_of
        ranked = sorted(broken, key=lambda one: (-kind_of[one.items[0]].priority, -_fullness(one, self.wanted)))
        for one in ranked:
            for item in one.items:
                if current[item] is None:
                    self.builder.take(item)
        for one in ranked:
            self._settle(one, complete=not budget.over())

    def _settle(self, gang: GangItems, *, complete: bool) -> None:
        current, running = self.packing.current, gang.running(self.packing.current)
        away = gang.leaves_whole and not gang.fixed
        homeless = [item for item in running if gang.leaves_whole or self.builder.node_of(item) is None]
        for item in homeless:
            self.builder.take(item)
        if not self._go_home(homeless) and away:
            for item in running:
                self.builder.take(item)
        if complete and not self._kept(gang):
            self._complete(gang)
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

    def _complete(self, gang: GangItems) -> None:
        """Place what has no node, if that makes the gang whole."""
        for nodes in self._areas(gang):
            placed = self._fill(gang, nodes)
            if self._kept(gang):
                return
            for item in placed:
                self.builder.take(item)

    def _areas(self, gang: GangItems) -> Iterator[Collection[int] | None]:
        """Yield the nodes that it may come to, of one domain after the other; None is anywhere."""
        if not gang.domain_of:
            yield None
            return
        there = Counter(gang.domain_of[node] for node in gang.nodes(self.builder.assignment))
        counts = Counter(one for one in gang.domain_of if one != NOWHERE)
        for domain in there or [one for one, _ in counts.most_common()]:
            yield {node for node, one in enumerate(gang.domain_of) if one == domain}

    def _fill(self, gang: GangItems, nodes: Collection[int] | None) -> list[int]:
        """Place items of a gang by first fit, and return which."""
        builder, current, kind_of = self.builder, self.packing.current, self.packing.kind_of
        waits: defaultdict[int, list[int]] = defaultdict(list)
        for item in sorted(gang.items, key=lambda one: (current[one] is None, [-each for each in kind_of[one].demand])):
            if builder.node_of(item) is None:
                waits[int(self.packing.kind[item])].append(item)
        placed = []
        for items in waits.values():
            # Room only gets scarcer: replicas go through the nodes once.
            for node in self._nodes_of(items, nodes):
                while items and self._may_come(gang, items[0], node):
                    builder.put(items[0], node)
                    placed.append(items.pop(0))
        return placed

    def _nodes_of(self, items: Sequence[int], nodes: Collection[int] | None) -> Iterator[int]:
        """Yield where they may come to, first where they were wanted."""
        eligible = self.packing.kind_of[items[0]].eligible
        first = dict.fromkeys(node for item in items if (node := self.wanted[item]) is not None)
        for node in (*first, *(one for one in eligible if one not in first)):
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
