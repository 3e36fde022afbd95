"""CP-SAT on the problem with relations, as far as linear rows can express them.

It proves limits that the problem without relations does not have, and its solutions are
proposals that mostly can be carried out.
"""

from __future__ import annotations

from dataclasses import replace

from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies.bounds import (
    TRIVIAL,
    Proof,
    TierBounds,
    trivial_bounds,
)
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.linear.solver import CpSat
from stowage_optimizer.strategies.linear.tiers import LinearLoop
from stowage_optimizer.strategies.related.program import RelatedFormulation
from stowage_optimizer.strategies.repair import keeps_relations

MOST_PAIRS = 20_000
"""Pairs of pod and node, or of domains, beyond which it is not worth trying."""


def manageable(packing: Packing) -> bool:
    """Return whether the problem is small enough to be written down."""
    relations = packing.relations
    if relations is None:
        return False
    compared = sum(
        len(spread.domains) ** 2
        for rules in relations.rules.values()
        for spread in rules.spread
    )
    pairs = len(packing.items) * len(packing.node_names)
    return max(compared, pairs) <= MOST_PAIRS


class _Settled(Incumbent):
    """Takes what keeps every relation as it is; the rest is made whole first."""

    __slots__ = ()

    def offer(self, candidate: Assignment) -> None:
        """Take ``candidate`` if it, or what can be made of it, is better."""
        reached = score(self.packing, candidate, self.policy)
        if reached > self.score and keeps_relations(self.packing, candidate):
            self.assignment, self.score = candidate, reached
        else:
            super().offer(candidate)


def improved(
    packing: Packing, assignment: Assignment, proved: int, budget: Budget
) -> Solution:
    """Return the best that one run of CP-SAT finds, with what it proves.

    Parameters
    ----------
    proved
        In how many tiers, from the highest, it is known to be the best.
    """
    value = score(packing, assignment, budget.policy)
    bounds = trivial_bounds(packing)
    for known, reached in zip(bounds[:proved], value, strict=False):
        known.placed, known.disruption = reached.placed, -reached.stability
        if reached.kept:
            known.kept = reached.kept
    incumbent = _Settled(packing, bounds, budget.policy, lambda _solution: None)
    incumbent.assignment, incumbent.score = assignment, value
    LinearLoop(
        packing, budget, incumbent, bounds, "", TRIVIAL, RelatedFormulation, CpSat()
    ).run()
    incumbent.bounds = [
        _with_proofs(mine, trivial)
        for mine, trivial in zip(bounds, trivial_bounds(packing), strict=True)
    ]
    return incumbent.solution()


def _with_proofs(bounds: TierBounds, trivial: TierBounds) -> TierBounds:
    """Return ``bounds`` with how they were proved."""
    proof = Proof(ProofMethod.CP_SAT)
    proved = bounds
    if bounds.placed < trivial.placed:
        proved = replace(proved, place=proof)
    if bounds.disruption > trivial.disruption:
        proved = replace(proved, disrupt=proof)
    return proved
