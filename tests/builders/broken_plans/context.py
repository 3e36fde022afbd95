"""The good plan that all ways to break one start from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from snapshot_builder import figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan


def _answer() -> pb.Plan:
    tier = pb.TierResult(
        placed_before=2,
        placed=3,
        upper_bound=3,
        optimal=True,
        disruption=2,
        disruption_lower_bound=2,
    )
    return pb.Plan(
        snapshot_id="snapshot-1",
        placements=[pb.Placement(pod_uid="pod-3", node="node-1")],
        moves=[pb.Move(pod_uid="pod-1", from_node="node-1", to_node="node-2")],
        tiers=[tier],
        optimal=True,
    )


@dataclass(slots=True)
class PlanContext:
    """The paper's figure 1 with its best plan: `pod-1` makes way for `pod-3`.

    Nothing of it is solved, so that what is broken here is the same everywhere.
    """

    snapshot: pb.Snapshot = field(default_factory=figure_1)
    plan: pb.Plan = field(default_factory=_answer)
    policy: pb.Policy = pb.POLICY_STRICT
    asked: pb.SolveOptions = field(default_factory=pb.SolveOptions)

    def rules_broken(self) -> set[str]:
        """Return the rules that the checker finds broken."""
        found = verify_plan(self.snapshot, self.plan, self.policy, self.asked)
        return {violation.rule for violation in found}


Mutation = Callable[[PlanContext], None]

Mutations = Mapping[str, tuple[Mutation, ...]]
"""Ways to break a plan, by the name of the rule that they break."""


def set_disruption(context: PlanContext, disruption: int) -> None:
    """Have the plan tell of so many disruptions, and no fewer possible."""
    (tier,) = context.plan.tiers
    tier.disruption = tier.disruption_lower_bound = disruption
