"""The stage that breaks ties between equal plans by what pods prefer.

One change at a time, other nodes are tried for pods that change theirs anyway: one pod
goes to another node with room, or two pods change places. The placed, moved and
displaced pods stay the same. So all that is proved of the plan stays proved. No pod
returns home: that would be another plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.assignments.unjust_displacement import has_unjust_displacement
from stowage_optimizer.constraints.preferences import Ints, Preferences, preferences_of
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.relations import NO_DOMAIN
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import Reserve, TimeBudget
from stowage_optimizer.stages.stage import Stage

LOOKING = Reserve(pods_per_s=15_000, least_share=0.05, most_share=0.3)
"""For looking through the pods. Where it takes too much of the limit, preferences are
left alone."""

MOST_TRIES = 50_000
"""Pods and pairs that are looked at, where no clock stops it before."""


@dataclass(frozen=True, slots=True)
class Prefer(Stage):
    """Ties between equal plans are broken by what pods prefer.

    Parameters
    ----------
    packing
        The problem with all that pods demand of each other.
    """

    packing: Packing

    def reserve_s(self, budget: TimeBudget) -> float:
        """Return the time to look through the pods."""
        return LOOKING.of(budget.limit_s, len(self.packing.snapshot.pods))

    def improve(self, known: Solution, budget: TimeBudget, publish: Publish) -> Solution:
        """Return a solution equal to ``known`` whose nodes the pods prefer."""
        if known.empty or budget.over():
            return known
        before = known.on(self.packing)
        after = _Improver(self.packing, before, budget).improved()
        if after == before:
            return known
        moved = replace(known, packing=self.packing, assignment=after)
        better = replace(known, assignment=moved.on(known.packing))
        publish(better)
        return better


@dataclass(slots=True)
class _Improver:
    """Improves one plan.

    Parameters
    ----------
    packing
        The problem with all that pods demand of each other.
    budget
        What the stage may use; without a clock, `MOST_TRIES` bounds it.
    """

    packing: Packing
    assignment: Assignment
    budget: TimeBudget
    _class_of: tuple[str, ...] = field(init=False)
    _touched: list[int] = field(init=False)
    _builder: AssignmentBuilder = field(init=False)
    _scores: PreferenceScores = field(init=False)
    _evicts: bool = field(init=False)
    _tries: int = 0

    def __post_init__(self) -> None:
        current = self.packing.current
        self._class_of = self.packing.class_ids
        touched = [index for index, node in enumerate(self.assignment) if node is not None and node != current[index]]
        classes = dict.fromkeys(self._class_of[index] for index in touched)
        self._scores = PreferenceScores(preferences_of(self.packing.snapshot, classes))
        self._touched = [index for index in touched if not self._scores.indifferent(self._class_of[index])]
        self._evicts = any(node is None and current[index] is not None for index, node in enumerate(self.assignment))
        self._builder = AssignmentBuilder(self.packing)
        if self._touched:
            self._fill(set(touched))

    def improved(self) -> Assignment:
        """Return the assignment after every change that its preferences gain from."""
        better = True
        while better:
            # Each round tries all pods, one at a time first.
            relocated = [self._relocate(index) for index in self._pods()]
            swapped = [self._swap(*pair) for pair in self._pairs()]
            better = any(relocated) or any(swapped)
        return self.assignment

    def _fill(self, touched: set[int]) -> None:
        """Place all pods as in the plan, and those that are no part of it."""
        for index, node in enumerate(self.assignment):
            if node is not None:
                self._builder.put(index, node)
                self._scores.put(self._class_of[index], node, touched=index in touched)
        names = {name: node for node, name in enumerate(self.packing.node_names)}
        pods = self.packing.snapshot.pods
        for pod in self.packing.staying:
            self._scores.put(pods.class_id[pod], names[pods.node[pod]], touched=False)

    def _pods(self) -> Iterator[int]:
        for index in self._touched:
            if self._exhausted():
                return
            yield index

    def _pairs(self) -> Iterator[tuple[int, int]]:
        for one, other in combinations(self._touched, 2):
            if self._exhausted():
                return
            yield one, other

    def _exhausted(self) -> bool:
        self._tries += 1
        return self._tries > MOST_TRIES or self.budget.over()

    def _relocate(self, index: int) -> bool:
        """Give ``index`` the best node that has room, if it gains; return whether."""
        before = self._node(index)
        self._take(index)
        worth = self._scores.worth(self._class_of[index])
        home = self.packing.current[index]
        nodes = np.array(self.packing.kind_of[index].eligible, np.intp)
        gaining = nodes[worth[nodes] > worth[before]]
        for node in gaining[np.argsort(-worth[gaining], kind="stable")].tolist():
            if node != home and self._builder.fits(index, node):
                self._put(index, node)
                if self._holds({index: node}):
                    return True
                self._take(index)
        self._put(index, before)
        return False

    def _swap(self, one: int, other: int) -> bool:
        """Let two pods change places, if they gain; return whether they did."""
        here, there = self._node(one), self._node(other)
        current, kind_of = self.packing.current, self.packing.kind_of
        same = here == there or self._class_of[one] == self._class_of[other]
        if same or there == current[one] or here == current[other]:
            return False
        open_to_one, open_to_other = kind_of[one].eligible, kind_of[other].eligible
        if there not in open_to_one or here not in open_to_other:
            return False
        before = self._take(other) + self._take(one)
        after = self._place_both(one, there, other, here)
        if after is not None:
            if after > before and self._holds({one: there, other: here}):
                return True
            self._take(one)
            self._take(other)
        self._put(one, here)
        self._put(other, there)
        return False

    def _place_both(self, one: int, there: int, other: int, here: int) -> int | None:
        """Put two pods that fit and return what that is worth, None if they do not."""
        if not self._builder.fits(one, there):
            return None
        worth = self._put(one, there)
        if not self._builder.fits(other, here):
            self._take(one)
            return None
        return worth + self._put(other, here)

    def _holds(self, changed: dict[int, int]) -> bool:
        """Return whether the plan may be carried out so; then it is the plan."""
        assignment = list(self.assignment)
        for index, node in changed.items():
            assignment[index] = node
        candidate = tuple(assignment)
        strict = self._evicts and self.budget.policy is Policy.STRICT
        if strict and has_unjust_displacement(self.packing, candidate):
            return False
        if not keeps_ties(self.packing, candidate):
            return False
        self.assignment = candidate
        return True

    def _node(self, index: int) -> int:
        node = self.assignment[index]
        assert node is not None  # noqa: S101 - touched pods have one
        return node

    def _take(self, index: int) -> int:
        """Take ``index`` off its node and return what it was worth there."""
        node = self._builder.node_of(index)
        assert node is not None  # noqa: S101 - it is taken once only
        self._builder.take(index)
        self._scores.take(self._class_of[index], node)
        return int(self._scores.worth(self._class_of[index])[node])

    def _put(self, index: int, node: int) -> int:
        """Put ``index`` on ``node`` and return what it is worth there."""
        worth = int(self._scores.worth(self._class_of[index])[node])
        self._builder.put(index, node)
        self._scores.put(self._class_of[index], node, touched=True)
        return worth


class PreferenceScores:
    """Where all pods are, and what that is worth to those that a plan touches.

    Parameters
    ----------
    preferences
        The preferences of every class of a touched pod.
    """

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        pods = preferences.pods
        sizes = [int(one.domain_of.max(initial=NO_DOMAIN)) + 1 for one in pods]
        # The last entry is of nodes without the label, where no pod counts.
        self._selected = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carriers = [np.zeros(size + 1, np.int64) for size in sizes]
        self._carried: defaultdict[str, list[int]] = defaultdict(list)
        self._selecting: defaultdict[str, list[int]] = defaultdict(list)
        for index, one in enumerate(pods):
            self._carried[one.carrier].append(index)
            for class_id in one.selected:
                self._selecting[class_id].append(index)

    def indifferent(self, class_id: str) -> bool:
        """Return whether it makes no difference where pods of the class are."""
        worth = self._preferences.nodes[class_id]
        return not (np.ptp(worth) or self._carried[class_id] or self._selecting[class_id])

    def put(self, class_id: str, node: int, *, touched: bool) -> None:
        """Count a pod on ``node``; of the touched ones the preferences count too."""
        self._count(class_id, node, 1, touched)

    def take(self, class_id: str, node: int) -> None:
        """Take a touched pod off ``node``."""
        self._count(class_id, node, -1, touched=True)

    def worth(self, class_id: str) -> Ints:
        """Return what one more touched pod would add on each node, ``(nodes,)``.

        What it is worth to the pod itself, and to all the others that it would join.
        """
        found = self._preferences.nodes[class_id].copy()
        for counts, preferences in (
            (self._selected, self._carried[class_id]),
            (self._carriers, self._selecting[class_id]),
        ):
            self._add(found, counts, preferences)
        return found

    def _add(self, found: Ints, counts: Sequence[Ints], preferences: Sequence[int]) -> None:
        for index in preferences:
            preference = self._preferences.pods[index]
            found += preference.weight * counts[index][preference.domain_of]

    def _count(self, class_id: str, node: int, sign: int, touched: bool) -> None:
        for index in self._selecting[class_id]:
            domain = self._preferences.pods[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._selected[index][domain] += sign
        if not touched:
            return
        for index in self._carried[class_id]:
            domain = self._preferences.pods[index].domain_of[node]
            if domain != NO_DOMAIN:
                self._carriers[index][domain] += sign
