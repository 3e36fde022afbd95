"""Gangs: pods of which enough have a node, or none has.

A gang of which fewer run already stays as it is, until a plan completes it or takes all of
its pods off: no plan takes one more pod away, nor adds one that does not complete it.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.pods import TERMINATING
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.tie import STAYS, KindVariables, Leaving, Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.search_arrays import load_of
from stowage_optimizer.ties.gang_preemption import Preemption
from stowage_optimizer.ties.gang_repair import GangItems, GangRepair, fullness

ROUNDS = 4
"""Rounds of repairing gangs, of which one may push out another; then nothing is changed at all."""

LEFT_OUT = 1 / 8
"""Chance that a whole gang stays as it is, when others are tried."""


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
            stays=bool(fixed[name]),
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

    gregarious = True

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
        repair = GangRepair(packing, assignment)
        for _ in range(ROUNDS):
            broken = [one for one in self.gangs if not one.kept(packing.current, repair.builder.assignment)]
            if not broken:
                repair.place_whole(self.gangs, budget)
                return repair.builder.assignment
            repair.settle(broken, budget)
        return packing.current

    def preempting(
        self, packing: Packing, assignment: Assignment, budget: TimeBudget, rng: Random | None
    ) -> Assignment:
        """Return ``assignment`` with whole gangs, in place of pods of lower priority where they need to be."""
        return Preemption(packing, self.gangs, assignment, rng).place(budget)

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Have the gangs that a proposal breaks stay as they are, but the fullest one of each priority."""
        del budget
        pins: dict[int, Collection[int]] = {}
        fullest: dict[int, GangItems] = {}
        for one in self.gangs:
            if not one.kept(packing.current, proposal):
                priority = packing.kind_of[one.items[0]].priority
                before = fullest.setdefault(priority, one)
                if fullness(one, proposal) > fullness(before, proposal):
                    fullest[priority] = one
        for one in self.gangs:
            kept = one.kept(packing.current, proposal)
            if rng is None:
                stays = not kept and one not in fullest.values()
            else:
                stays = rng.random() < (LEFT_OUT if kept else 1 - fullness(one, proposal) / 2)
            if stays:
                pins |= dict.fromkeys(one.items, STAYS)
            elif one.domain_of:
                pins |= dict.fromkeys(one.items, _domain_of(packing, one, proposal, rng))
            elif one.leaves_whole and not kept:
                pins |= dict.fromkeys(one.running(packing.current), STAYS)
        return pins

    def write(self, packing: Packing, rows: Rows) -> None:
        """Write a few rows for each gang, and what all nodes together have room for.

        The latter follow from the room of each node, but solvers see from them alone which gangs cannot be whole
        beside each other.
        """
        every = [kind for kinds in rows.kinds.values() for kind in kinds]
        total = {id(kind): rows.total_of([*kind.stay.values(), *kind.come.values()], kind.size) for kind in every}
        for one in self.gangs:
            names = dict.fromkeys(packing.class_ids[item] for item in one.items)
            kinds = [kind for name in names for kind in rows.kinds.get(name, ())]
            if kinds:
                totals = [total[id(kind)] for kind in kinds]
                _GangRows(one, kinds, totals, rows).add(as_it_was=not one.sound(packing.current, packing.current))
        # Pods may stay where they ask for more than there is.
        problem = packing.problem
        held = np.maximum(problem.room, load_of(problem, problem.home != NOWHERE)).sum(axis=0)
        for dimension, room in enumerate(held.tolist()):
            terms = [(total[id(kind)], kind.demand[dimension]) for kind in every if kind.demand[dimension]]
            rows.program.at_most(terms, room)

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie | None:
        """Count those that are elsewhere."""
        number, current = {index: at for at, index in enumerate(members)}, packing.current
        parts = []
        for one in self.gangs:
            others = {item: assignment[item] for item in one.items if item not in number}
            run = [item for item in others if current[item] is not None]
            parts.append(
                replace(
                    one,
                    items=tuple(number[item] for item in one.items if item in number),
                    fixed=(*one.fixed, *(node for node in others.values() if node is not None)),
                    changed=one.changed or any(node != current[item] for item, node in others.items()),
                    stays=one.stays or any(others[item] == current[item] for item in run),
                    left=one.left or any(others[item] != current[item] for item in run),
                )
            )
        gangs = tuple(one for one in parts if one.items)
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
    kinds, totals
        The variables of its pods, and of how many of each kind have a node.
    """

    def __init__(self, gang: GangItems, kinds: Sequence[KindVariables], totals: Sequence[int], rows: Rows) -> None:
        self.gang, self.totals, self.rows = gang, totals, rows
        self.stay = [variable for kind in kinds for variable in kind.stay.values()]
        self.come = [variable for kind in kinds for variable in kind.come.values()]
        self.at = [
            (node, variable) for kind in kinds for one in (kind.stay, kind.come) for node, variable in one.items()
        ]
        self.running = sum(kind.running for kind in kinds)
        self._as_it_was: int | None = None

    def add(self, *, as_it_was: bool) -> None:
        """Add them; ``as_it_was`` if it may only stay so as an exception."""
        gang, there = self.gang, [(total, -1) for total in self.totals]
        if as_it_was and not gang.changed:
            self._add_exception()
        need = gang.least - len(gang.fixed)
        if gang.fixed:
            self._at_most(there, -need, unless=need)
        else:
            self._at_most([(self.rows.any_of(self.totals), need), *there], 0, unless=need)
        if gang.leaves_whole and self.running:
            stays = [(one, -1) for one in self.stay]
            if gang.left:
                self._at_most([(one, 1) for one in self.stay], 0)
            elif gang.stays:
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
