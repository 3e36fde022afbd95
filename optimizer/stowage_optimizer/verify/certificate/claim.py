"""A claim: the limit that a plan states for one phase of a tier, and its prices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stowage_optimizer.contract import optimizer_pb2 as pb


@dataclass(frozen=True, slots=True)
class Claim:
    """No plan that is as good in everything before has more (or disrupts less).

    Parameters
    ----------
    priority
        Of the tier.
    phase
        `PHASE_PLACE` or `PHASE_DISRUPT`.
    limit
        Most pods placed, or least disruption.
    dual
        The prices that prove it.
    """

    priority: int
    phase: pb.Phase
    limit: int
    dual: pb.DualBound

    @property
    def name(self) -> str:
        """What the claim is of, for messages."""
        return f"{self.priority}/{pb.Phase.Name(self.phase)}"


def claims(plan: pb.Plan) -> Iterator[Claim]:
    """Yield each limit of ``plan`` that comes with prices."""
    for tier in plan.tiers:
        if tier.place.HasField("dual_bound"):
            yield Claim(
                tier.priority, pb.PHASE_PLACE, tier.upper_bound, tier.place.dual_bound
            )
        if tier.disrupt.HasField("dual_bound"):
            yield Claim(
                tier.priority,
                pb.PHASE_DISRUPT,
                tier.disruption_lower_bound,
                tier.disrupt.dual_bound,
            )
