"""What would be in the end: a plan and what the scheduler adds, or as things are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import Continued
from stowage_testbed.whatif.findings import Tier


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where pods are in the end, by UID; the scheduler places some beside the plan.

    What keeps the others is in the scheduler's words; of equal pods one has the reason of all.
    """

    placed: Mapping[str, str]
    moves: Sequence[pb.Move]
    evictions: Sequence[pb.Eviction]
    reasons: Mapping[str, str]
    added: frozenset[str]

    @property
    def disruptions(self) -> int:
        """How many running pods lose their place."""
        return len(self.moves) + len(self.evictions)


def outcome_of(snapshot: pb.Snapshot, plan: pb.Plan, continued: Continued | None) -> Outcome:
    """Return what comes of a plan, after which the scheduler places what it can."""
    uids = {f"{pod.namespace}/{pod.name}": pod.uid for pod in snapshot.pods}
    after = continued or Continued()
    added = {uids[name]: node for name, node in after.nodes.items() if name in uids}
    return Outcome(
        placed={one.pod_uid: one.node for one in plan.placements} | added,
        moves=plan.moves,
        evictions=plan.evictions,
        reasons={uids[name]: reason for name, reason in after.reasons.items() if name in uids},
        added=frozenset(added),
    )


class Ranking:
    """Counts the pods that have a node, by priority and above, the highest first."""

    def __init__(self, snapshot: pb.Snapshot) -> None:
        classes = {one.id: one.priority for one in snapshot.pod_classes}
        self.of_pod = {pod.uid: classes[pod.class_id] for pod in snapshot.pods}
        self.priorities = sorted(set(self.of_pod.values()), reverse=True)
        self.before = self._from_above(Counter(classes[pod.class_id] for pod in snapshot.pods if pod.node))
        self.all = self._from_above(Counter(self.of_pod.values()))

    def gains(self, found: Outcome) -> list[int]:
        """Return how many more have a node, of each priority and above."""
        gained = Counter(self.of_pod[uid] for uid in found.placed)
        gained.subtract(self.of_pod[one.pod_uid] for one in found.evictions)
        return self._from_above(gained)

    def better(self, one: Outcome, other: Outcome) -> bool:
        """Return whether one places more, the highest priority first, or as many with less disruption."""
        return (self.gains(one), -one.disruptions) > (self.gains(other), -other.disruptions)

    def tiers(self, found: Outcome, plan: pb.Plan) -> tuple[Tier, ...]:
        """Return the outcome by tiers, with what is proved of each.

        A tier's limit holds as long as the tiers above got what they get by the plan.
        Pods that the optimiser refused do not count in it.
        """
        proved = {one.priority: one for one in plan.tiers}
        holds, tiers = True, []
        for priority, before, gain, every in zip(
            self.priorities, self.before, self.gains(found), self.all, strict=True
        ):
            after, most, one = before + gain, every, proved.get(priority)
            if one is not None and holds:
                unseen = max(before - one.placed_before, 0)
                most = max(after, min(every, one.upper_bound + unseen))
                holds = after - unseen == one.placed
            tiers.append(Tier(priority, before, after, most))
        return tuple(tiers)

    def curve(self, plan: pb.Plan, now: Outcome, found: Outcome) -> tuple[tuple[int, int], ...]:
        """Return how many more pods have a node with at most so many moves, ascending.

        With none it is what the scheduler places as things are.
        """
        if not found.moves:
            return ()
        before = max((one.placed_before for one in plan.tiers), default=0)
        points = [(0, len(now.placed)), *((one.moves, one.placed - before) for one in plan.gain_by_moves)]
        rising = list[tuple[int, int]]()
        for moves, gained in sorted([*points, (len(found.moves), self.gains(found)[-1])]):
            if rising and gained <= rising[-1][1]:
                continue
            if rising and moves == rising[-1][0]:
                rising.pop()
            rising.append((moves, gained))
        return tuple(rising)

    def _from_above(self, counts: Mapping[int, int]) -> list[int]:
        sums, above = [], 0
        for priority in self.priorities:
            above += counts.get(priority, 0)
            sums.append(above)
        return sums
