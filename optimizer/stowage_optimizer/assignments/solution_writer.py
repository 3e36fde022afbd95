"""An assignment written as a solution: what each tier has reached, and what is proved."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stowage_optimizer.bounds.proofs import TierBounds
from stowage_optimizer.model.objective import TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.solution import Solution, TierResult


class SolutionWriter:
    """Writes assignments of one packing as solutions.

    Parameters
    ----------
    policy
        Decides whether a tier is optimal only with every running pod kept that can.
    """

    def __init__(self, packing: Packing, policy: Policy) -> None:
        self.packing = packing
        self.policy = policy
        pods, classes = packing.snapshot.pods, packing.snapshot.classes
        self._staying: Counter[int] = Counter()
        for class_id, count in zip(pods.classes, pods.counts(pods.running), strict=True):
            self._staying[classes[class_id].priority] += count * classes[class_id].counts_for
        moving = packing.kind[packing.home != NOWHERE]
        in_play = np.bincount(moving, minlength=len(packing.kinds))
        for kind, count in zip(packing.kinds, in_play.tolist(), strict=True):
            self._staying[kind.priority] -= count * kind.worth
        present = {classes[class_id].priority for class_id in pods.classes}
        self._before = score(packing, packing.current, policy)
        self._priorities = sorted({*present, *packing.tiers}, reverse=True)

    def write(self, assignment: Assignment, bounds: Sequence[TierBounds], message: str = "") -> Solution:
        """Return ``assignment`` as a solution whose tiers carry ``bounds``."""
        tiers = self._tiers(assignment, bounds)
        return Solution(self.packing, assignment, tiers, self.packing.refusals, message)

    def _tiers(self, assignment: Assignment, bounds: Sequence[TierBounds]) -> tuple[TierResult, ...]:
        after = score(self.packing, assignment, self.policy)
        scores = zip(self._before, after, bounds, strict=True)
        by_tier = dict(zip(self.packing.tiers, scores, strict=True))
        # Priorities whose pods all stay anyway repeat the tier above them.
        was = now = TierScore(0, 0, 0)
        limits = TierBounds(running=0, kept=0, placed=0)
        staying, proved = 0, True
        tiers = []
        for priority in self._priorities:
            staying += self._staying[priority]
            # Prices are of one tier: they are reported there only.
            again = (was, now, limits.without_prices())
            was, now, limits = by_tier.get(priority, again)
            proved = proved and self._proved(now, limits)
            tiers.append(
                TierResult(
                    priority=priority,
                    placed_before=staying + was.placed,
                    placed=staying + now.placed,
                    upper_bound=staying + max(limits.placed, now.placed),
                    optimal=proved,
                    disruption=-now.stability,
                    disruption_lower_bound=min(limits.disruption, -now.stability),
                    place=limits.place.certify(reached=now.placed >= limits.placed),
                    disrupt=limits.disrupt.certify(reached=-now.stability <= limits.disruption),
                )
            )
        return tuple(tiers)

    def _proved(self, reached: TierScore, limits: TierBounds) -> bool:
        kept = self.policy is Policy.PAPER or reached.kept >= limits.kept
        return kept and reached.placed >= limits.placed and -reached.stability <= limits.disruption
