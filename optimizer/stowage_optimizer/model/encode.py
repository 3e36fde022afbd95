"""From the model back to the contract's messages."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode_certificate import encode_certificate
from stowage_optimizer.model.plan import NodesInUse, Plan, TierResult
from stowage_optimizer.model.refusal import Refusal


def encode_plan(plan: Plan) -> pb.Plan:
    """Return ``plan`` as the contract's message."""
    return pb.Plan(
        snapshot_id=plan.snapshot_id,
        placements=[
            pb.Placement(pod_uid=placement.pod_uid, node=placement.node)
            for placement in plan.placements
        ],
        moves=[
            pb.Move(
                pod_uid=move.pod_uid, from_node=move.from_node, to_node=move.to_node
            )
            for move in plan.moves
        ],
        evictions=[
            pb.Eviction(pod_uid=eviction.pod_uid, node=eviction.node)
            for eviction in plan.evictions
        ],
        tiers=[_tier(tier) for tier in plan.tiers],
        optimal=plan.optimal,
        gain_by_moves=[
            pb.GainPoint(moves=point.moves, placed=point.placed)
            for point in plan.gain_by_moves
        ],
        nodes_in_use=_nodes_in_use(plan.nodes_in_use),
    )


LONGEST_DETAIL = 400
"""Characters; readers of the answer accept 16 MiB."""

CUT = " ..."
"""Marks a detail that was cut."""


def encode_refusals(refusals: Iterable[Refusal]) -> list[pb.Refusal]:
    """Return ``refusals`` as the contract's messages, with details of a few lines.

    A detail may name all budgets of a namespace, and there is one for each class.
    """
    return [
        pb.Refusal(
            subject=refusal.subject,
            reason=refusal.reason,
            detail=_shortened(refusal.detail),
        )
        for refusal in refusals
    ]


def _shortened(detail: str) -> str:
    if len(detail) <= LONGEST_DETAIL:
        return detail
    return detail[: LONGEST_DETAIL - len(CUT)] + CUT


def _nodes_in_use(nodes: NodesInUse | None) -> pb.NodesInUse | None:
    if nodes is None:
        return None
    return pb.NodesInUse(
        before=nodes.before,
        after=nodes.after,
        lower_bound=nodes.lower_bound,
        moves_lower_bound=nodes.moves_lower_bound,
    )


def _tier(tier: TierResult) -> pb.TierResult:
    return pb.TierResult(
        priority=tier.priority,
        placed_before=tier.placed_before,
        placed=tier.placed,
        upper_bound=tier.upper_bound,
        optimal=tier.optimal,
        disruption=tier.disruption,
        disruption_lower_bound=tier.disruption_lower_bound,
        place=encode_certificate(tier.place),
        disrupt=encode_certificate(tier.disrupt),
    )
