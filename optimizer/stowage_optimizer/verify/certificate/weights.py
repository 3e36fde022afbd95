"""What pods are worth under the prices, before they pay for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.certificate.claim import Claim
from stowage_optimizer.verify.certificate.pods import Group, Pods
from stowage_optimizer.verify.tiers import EVICTION_WEIGHT, MOVE_WEIGHT, count_tiers


@dataclass(slots=True)
class Weights:
    """The claim's phase and its requirements as one weighted sum.

    Parameters
    ----------
    pods
        The pods of the claim.
    terms
        Phase, priority and weight: what is maximised first, then the requirements.
    """

    pods: Pods
    terms: list[tuple[pb.Phase, int, int]] = field(init=False)

    def __post_init__(self) -> None:
        claim = self.pods.claim
        self.terms = [(claim.phase, claim.priority, claim.dual.scale)]
        self.terms += [
            (one.phase, one.priority, one.price) for one in claim.dual.requirements
        ]

    def problems(self, policy: pb.Policy) -> Iterator[str]:
        """Yield requirements that may not be asked for."""
        claim = self.pods.claim
        if claim.dual.scale <= 0:
            yield "the scale is not positive"
        known = {self.pods.case.priority(uid) for uid in self.pods.case.pods}
        for one in claim.dual.requirements:
            name = f"{one.priority}/{pb.Phase.Name(one.phase)}"
            if one.price < 0:
                yield f"the price of {name} is negative"
            if one.priority not in known:
                yield f"there is no tier {one.priority}"
            if not _before(one, claim):
                yield f"{name} is not settled before {claim.name}"
            if one.phase == pb.PHASE_KEEP and policy != pb.POLICY_STRICT:
                yield f"{name} is asked for by the strict policy only"

    def placed(self, group: Group) -> int:
        """Return the weight of a pod that has a node."""
        return self._sum(pb.PHASE_PLACE, group.priority)

    def stays(self, group: Group) -> int:
        """Return the weight of a running pod that stays at home."""
        return MOVE_WEIGHT * self._sum(pb.PHASE_DISRUPT, group.priority)

    def running(self, group: Group) -> int:
        """Return the weight of a running pod that has a node."""
        kept = sum(
            weight
            for phase, priority, weight in self.terms
            if phase == pb.PHASE_KEEP and priority == group.priority
        )
        lost = EVICTION_WEIGHT - MOVE_WEIGHT
        return kept + lost * self._sum(pb.PHASE_DISRUPT, group.priority)

    def required(self) -> int:
        """Return what the requirements amount to, of the pods in groups."""
        return sum(
            price * (self._reached(phase, priority) - self.constant(phase, priority))
            for phase, priority, price in self.terms[1:]
        )

    def constant(self, phase: pb.Phase, priority: int) -> int:
        """Return what staying pods add to a phase's number."""
        case = self.pods.case
        if phase == pb.PHASE_KEEP:
            return sum(case.priority(uid) == priority for uid in self.pods.fixed)
        if phase == pb.PHASE_PLACE:
            return sum(case.priority(uid) >= priority for uid in self.pods.fixed)
        return -EVICTION_WEIGHT * sum(
            bool(case.pods[uid].node)
            for group in self.pods.groups
            if group.priority >= priority
            for uid in group.uids
        )

    def _sum(self, wanted: pb.Phase, priority: int) -> int:
        return sum(
            weight
            for phase, at, weight in self.terms
            if phase == wanted and priority >= at
        )

    def _reached(self, phase: pb.Phase, priority: int) -> int:
        case = self.pods.case
        if phase == pb.PHASE_KEEP:
            return sum(
                bool(pod.node and case.after[uid])
                for uid, pod in case.pods.items()
                if case.priority(uid) == priority
            )
        for at, _before_it, after, disruption in count_tiers(case):
            if at == priority:
                return after if phase == pb.PHASE_PLACE else -disruption
        return 0


def _before(one: pb.RequirementPrice, claim: Claim) -> bool:
    """Return whether a requirement is settled before what is claimed."""
    if one.priority == claim.priority:
        return one.phase < claim.phase
    return one.priority > claim.priority
