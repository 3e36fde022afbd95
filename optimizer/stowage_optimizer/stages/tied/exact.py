"""CP-SAT on the problem with ties, as far as rows express them.

It proves bounds that the problem without ties does not have, and its solutions are
proposals that mostly can be carried out.
"""

from dataclasses import dataclass

from stowage_optimizer.assignments.incumbent import Incumbent
from stowage_optimizer.assignments.repair import repair_ties, repair_with_ties
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.programs.tied import TiedFormulation
from stowage_optimizer.programs.tiers import TierLoop

MOST_PAIRS = 20_000
"""Pairs of pod and node, or of domains, beyond which it is not worth trying."""

FEW_COUNTS, MOST_COUNTS = 600, 6_000
"""Pairs of kind and node up to which CP-SAT mostly finds the best plan for gangs in a second, whatever it begins with;
and beyond which it is not worth trying, either."""

MOST_COUNTED = 1_200
"""Pods beyond which repairing what is found takes too long for that."""


def manageable(packing: Packing, most: int = MOST_PAIRS) -> bool:
    """Return whether pods are tied, and the problem small enough to be written down."""
    pairs = len(packing.current) * len(packing.node_names)
    return bool(packing.ties) and max(pairs, _rows(packing)) <= most


def countable(packing: Packing, most: int = MOST_COUNTS) -> bool:
    """Return whether pods come in gangs, and the problem is small enough when they are counted by kind."""
    few = len(packing.kinds) * len(packing.node_names) <= most and len(packing.current) <= MOST_COUNTED
    return few and _rows(packing) <= MOST_PAIRS and packing.gregarious


def _rows(packing: Packing) -> int:
    return sum(tie.rows for tie in packing.ties)


@dataclass(slots=True)
class _Settled(Incumbent):
    """Takes what keeps every tie, as it is or repaired."""

    budget: TimeBudget

    def offer(self, candidate: Assignment) -> None:
        """Take ``candidate``, or what can be made of it, if that is better."""
        packing = self.packing
        for repaired in (repair_ties, repair_with_ties):
            one = repaired(packing, candidate, self.budget)
            reached = score(packing, one, self.policy)
            if reached > self.score and keeps_ties(packing, one):
                self.assignment, self.score = one, reached


def improved(packing: Packing, assignment: Assignment, proved: int, budget: TimeBudget) -> Solution:
    """Return the best that one run of CP-SAT finds, with what it proves.

    Parameters
    ----------
    packing, assignment
        The problem, and the best so far.
    proved
        In how many tiers, from the highest, it is known to be the best.
    """
    value = score(packing, assignment, budget.policy)
    bounds = trivial_bounds(packing)
    proof = Proof(ProofMethod.CP_SAT)
    for known, reached in zip(bounds[:proved], value, strict=False):
        if reached.placed < known.placed:
            known.placed, known.place = reached.placed, proof
        if reached.stability:
            known.disruption, known.disrupt = -reached.stability, proof
        if reached.kept:
            known.kept = reached.kept
    incumbent = _Settled(packing, bounds, budget.policy, lambda _solution: None, budget)
    incumbent.assignment, incumbent.score = assignment, value
    TierLoop(packing, budget, incumbent, bounds, "", proof, TiedFormulation).run()
    return incumbent.solution()
