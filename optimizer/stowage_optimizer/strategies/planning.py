"""From an assignment of items back to a plan for the snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from stowage_optimizer.model.objective import Score, TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Eviction, Move, Placement, Plan, TierResult
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.bounds import TierBounds


@dataclass(slots=True)
class PlanWriter:
    """Writes assignments of one packing as plans.

    Parameters
    ----------
    snapshot, packing
        The snapshot and the problem that it was reduced to.
    policy
        Decides whether a tier is optimal only with every running pod kept that can.
    """

    snapshot: Snapshot
    packing: Packing
    policy: Policy
    _staying: Counter[int] = field(init=False)
    _priorities: tuple[int, ...] = field(init=False)
    _before: Score = field(init=False)

    def __post_init__(self) -> None:
        in_play = {item.pod_uid for item in self.packing.items}
        priority = {name: one.priority for name, one in self.snapshot.classes.items()}
        self._staying = Counter(
            priority[pod.class_id]
            for pod in self.snapshot.pods
            if pod.uid not in in_play and pod.node is not None
        )
        present = {priority[name] for name in {p.class_id for p in self.snapshot.pods}}
        self._before = score(self.packing, self.packing.current, self.policy)
        self._priorities = tuple(sorted(present, reverse=True))

    def write(self, assignment: Assignment, bounds: Sequence[TierBounds]) -> Plan:
        """Return ``assignment`` as a plan whose tiers carry ``bounds``."""
        placements, moves, evictions = [], [], []
        names = self.packing.node_names
        for item, node in zip(self.packing.items, assignment, strict=True):
            if node == item.home:
                continue
            if item.home is None and node is not None:
                placements.append(Placement(item.pod_uid, names[node]))
            elif item.home is not None and node is None:
                evictions.append(Eviction(item.pod_uid, names[item.home]))
            elif item.home is not None and node is not None:
                moves.append(Move(item.pod_uid, names[item.home], names[node]))
        return Plan(
            snapshot_id=self.snapshot.id,
            placements=tuple(placements),
            moves=tuple(moves),
            evictions=tuple(evictions),
            tiers=self._tiers(assignment, bounds),
        )

    def _tiers(
        self, assignment: Assignment, bounds: Sequence[TierBounds]
    ) -> tuple[TierResult, ...]:
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
                    disrupt=limits.disrupt.certify(
                        reached=-now.stability <= limits.disruption
                    ),
                )
            )
        return tuple(tiers)

    def _proved(self, reached: TierScore, limits: TierBounds) -> bool:
        kept = self.policy is Policy.PAPER or reached.kept >= limits.kept
        return (
            kept
            and reached.placed >= limits.placed
            and -reached.stability <= limits.disruption
        )
