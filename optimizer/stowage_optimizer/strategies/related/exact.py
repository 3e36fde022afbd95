"""CP-SAT on the problem with relations, as far as linear rows can express them.

It proves limits that the problem without relations does not have, and its solutions are
proposals that mostly can be carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Clock, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.strategies.bounds import Proof, TierBounds, trivial_bounds
from stowage_optimizer.strategies.incumbent import Incumbent
from stowage_optimizer.strategies.keeping_relations import keeps_relations
from stowage_optimizer.strategies.linear.cpsat import CpSat
from stowage_optimizer.strategies.linear.tiers import TierLoop
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.related.formulation import RelatedFormulation

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
        reached = score(self.packing, candidate, self.writer.policy)
        if reached > self.score and keeps_relations(self.packing, candidate):
            self.assignment, self.score = candidate, reached
        else:
            super().offer(candidate)


@dataclass(frozen=True, slots=True)
class Exact:
    """One run of CP-SAT.

    Parameters
    ----------
    packing, writer
        The problem with relations, and the writer of its plans.
    options, clock
        How to solve; the time limit is that of the run.
    """

    packing: Packing
    writer: PlanWriter
    options: SolveOptions
    clock: Clock

    def improve(self, assignment: Assignment, proved: int) -> tuple[Assignment, Plan]:
        """Return the best found from ``assignment`` on, and what it may claim.

        Parameters
        ----------
        assignment
            Keeps every relation.
        proved
            In how many tiers, from the highest, it is known to be the best.
        """
        value = score(self.packing, assignment, self.writer.policy)
        bounds = self._bounds(value, proved)
        incumbent = _Settled(self.packing, bounds, self.writer, _ignored)
        incumbent.assignment, incumbent.score = assignment, value
        TierLoop(
            self.packing,
            self.options,
            self.clock,
            self.clock() + self.options.time_limit_s,
            incumbent,
            bounds,
            RelatedFormulation,
            CpSat(self.clock),
        ).run()
        found = incumbent.assignment
        proofs = [
            _with_proofs(mine, trivial)
            for mine, trivial in zip(bounds, trivial_bounds(self.packing), strict=True)
        ]
        return found, self.writer.write(found, proofs)

    def _bounds(self, value: Score, proved: int) -> list[TierBounds]:
        bounds = trivial_bounds(self.packing)
        for known, reached in zip(bounds[:proved], value, strict=False):
            known.placed, known.disruption = reached.placed, -reached.stability
            if reached.kept:
                known.kept = reached.kept
        return bounds


def _ignored(_plan: Plan) -> None:
    """Take no notice of plans before the last one."""


def _with_proofs(bounds: TierBounds, trivial: TierBounds) -> TierBounds:
    """Return ``bounds`` with how they were proved."""
    proof = Proof(ProofMethod.CP_SAT)
    proved = bounds
    if bounds.placed < trivial.placed:
        proved = replace(proved, place=proof)
    if bounds.disruption > trivial.disruption:
        proved = replace(proved, disrupt=proof)
    return proved
