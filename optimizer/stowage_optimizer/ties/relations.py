"""Affinity, anti-affinity and spread between pods."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from stowage_optimizer.assignments.builder import AssignmentBuilder
from stowage_optimizer.assignments.repair import repair_with_ties
from stowage_optimizer.constraints.relations import DomainCounts, relations_of
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.relations import Relations, Rules
from stowage_optimizer.model.tie import Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.ties.arrival_order import arrive, settled
from stowage_optimizer.ties.relation_rows import RelationRows

PERTURBED_SHARE = 0.5
"""Of the pods with demands that have a node, when others are tried."""


def relation_tie(packing: Packing) -> Tie | None:
    """Return what the pods of ``packing`` demand of each other; or nothing."""
    relations = relations_of(packing)
    return None if relations is None else RelationTie(relations)


@dataclass(frozen=True)
class RelationTie(Tie):
    """What pods demand of the pods in a domain, at the moment when they come."""

    partial = True

    relations: Relations

    @property
    def rows(self) -> int:  # type: ignore[override] # read only
        """Pairs of domains that are compared."""
        return sum(len(spread.domains) ** 2 for rules in self.relations.rules.values() for spread in rules.spread)

    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether every pod may come to its node, in some order of arrival."""
        return not arrive(AssignmentBuilder(packing), packing, assignment)

    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Return ``assignment`` with the pods elsewhere, or waiting, that may not come.

        The present state if a running pod would have no node for it.
        """
        classes, class_ids = packing.snapshot.classes, packing.class_ids
        # A gang comes whole, so that none of its pods may be added.
        alone = [one for one in self._demanding if not classes[class_ids[one]].gang]
        return settled(packing, assignment, alone, budget.over) or packing.current

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Keep each pod with demands to the domains that a proposal gave it.

        If a proposal keeps every relation, so does every assignment that leaves all pods
        in the proposal's domains. The proposal need not fit: the strategy finds the room.
        """
        if rng is not None:
            proposal = self._perturbed(packing, proposal, rng)
        proposal = self._with_room_for_all(packing, proposal, budget)
        signatures = _Signatures(self.relations, len(packing.node_names))
        return {
            index: signatures.like(self.relations.class_of[index], node)
            for index in self._demanding
            if (node := proposal[index]) is not None
        }

    def write(self, packing: Packing, rows: Rows) -> None:
        """Write the rows of every class with demands."""
        del packing
        RelationRows(self.relations, rows).add()

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie:
        """Return the same for ``members``; the others stay where they are."""
        of, kept = self.relations.class_of, set(members)
        more = tuple(
            (of[index], node, False) for index, node in enumerate(assignment) if node is not None and index not in kept
        )
        relations = replace(
            self.relations, class_of=tuple(of[index] for index in members), staying=(*self.relations.staying, *more)
        )
        return RelationTie(relations)

    def counts(self, packing: Packing) -> DomainCounts:
        """Return the counts of pods by domain."""
        return DomainCounts(self.relations, packing.current)

    @property
    def _demanding(self) -> list[int]:
        return [index for index, class_id in enumerate(self.relations.class_of) if class_id in self.relations.rules]

    def _perturbed(self, packing: Packing, wanted: Assignment, rng: Random) -> Assignment:
        """Return ``wanted`` with other nodes for pods with demands.

        Those that wait all get one; half of the others do. Running pods that move
        needlessly return home when the proposal is repaired.
        """
        changed = list(wanted)
        for index in self._demanding:
            eligible = packing.kind_of[index].eligible
            if eligible and (wanted[index] is None or rng.random() < PERTURBED_SHARE):
                changed[index] = rng.choice(eligible)
        return tuple(changed)

    def _with_room_for_all(self, packing: Packing, wanted: Assignment, budget: TimeBudget) -> Assignment:
        """Return ``wanted`` with every relation kept, given room for all pods.

        If that is impossible, the present state.
        """
        counts = np.bincount(packing.kind, minlength=len(packing.kinds)).tolist()
        everything = [
            sum(count * amount for count, amount in zip(counts, amounts, strict=True))
            for amounts in zip(*(kind.demand for kind in packing.kinds), strict=True)
        ]
        room = tuple(
            tuple(max(0, one) + more for one, more in zip(amounts, everything, strict=True)) for amounts in packing.room
        )
        roomy = replace(packing, room=room, ties=(self,))
        repaired = repair_with_ties(roomy, wanted, budget)
        return settled(roomy, repaired, self._demanding) or repaired


class _Signatures:
    """Groups of nodes that the relations of a class do not distinguish."""

    def __init__(self, relations: Relations, nodes: int) -> None:
        self._relations = relations
        self._nodes = nodes
        self._alike: dict[str, list[frozenset[int]]] = {}

    def like(self, class_id: str, node: int) -> frozenset[int]:
        """Return the nodes in the same domains as ``node``."""
        if class_id not in self._alike:
            self._alike[class_id] = self._grouped(class_id)
        return self._alike[class_id][node]

    def _grouped(self, class_id: str) -> list[frozenset[int]]:
        """Return the equivalent nodes of each node."""
        relations = self._relations
        concerned = {*_tallies(relations.rules[class_id]), *relations.counting.get(class_id, ())}
        tallies = [relations.tallies[index] for index in sorted(concerned)]
        signatures = [
            tuple((one.domain_of[node], one.counted is None or node in one.counted) for one in tallies)
            for node in range(self._nodes)
        ]
        groups: defaultdict[tuple[tuple[int, bool], ...], list[int]]
        groups = defaultdict(list)
        for node, signature in enumerate(signatures):
            groups[signature].append(node)
        groups_of = {signature: frozenset(nodes) for signature, nodes in groups.items()}
        return [groups_of[signature] for signature in signatures]


def _tallies(rules: Rules) -> tuple[int, ...]:
    near = () if rules.affinity is None else rules.affinity.tallies
    return (*rules.anti_affinity, *near, *(spread.tally for spread in rules.spread))
