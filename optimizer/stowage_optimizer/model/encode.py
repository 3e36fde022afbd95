"""From the model back to the contract's messages."""

from collections.abc import Iterable
from dataclasses import asdict

import numpy as np

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import Certificate, DualBound
from stowage_optimizer.model.packing import as_nodes
from stowage_optimizer.model.snapshot import Refusal
from stowage_optimizer.model.solution import Solution, TierResult

LONGEST_DETAIL = 400
"""Characters; readers of the answer accept 16 MiB."""

CUT = " ..."
"""Marks a detail that was cut."""


def encode_plan(solution: Solution) -> pb.Plan:
    """Return ``solution`` as a plan for its snapshot: the one place that writes one."""
    packing = solution.packing
    in_use = solution.nodes_in_use
    plan = pb.Plan(
        snapshot_id=packing.snapshot.id,
        tiers=[_tier(tier) for tier in solution.tiers],
        optimal=solution.optimal,
        gain_by_moves=[pb.GainPoint(moves=point.moves, placed=point.placed) for point in solution.gain_by_moves],
        nodes_in_use=None if in_use is None else pb.NodesInUse(**asdict(in_use)),
    )
    names, nodes, homes = packing.node_names, solution.assignment, packing.current
    for item in np.flatnonzero(as_nodes(nodes) != packing.home).tolist():
        uid, home, node = packing.pod_uids[item], homes[item], nodes[item]
        if home is None:
            assert node is not None  # noqa: S101 - it changes
            plan.placements.add(pod_uid=uid, node=names[node])
        elif node is None:
            plan.evictions.add(pod_uid=uid, node=names[home])
        else:
            plan.moves.add(pod_uid=uid, from_node=names[home], to_node=names[node])
    return plan


def encode_refusals(refusals: Iterable[Refusal]) -> list[pb.Refusal]:
    """Return ``refusals`` as the contract's messages, with details of a few lines.

    A detail may name all budgets of a namespace, and there is one for each class.
    """
    return [pb.Refusal(subject=one.subject, reason=one.reason, detail=_cut(one.detail)) for one in refusals]


def _cut(detail: str) -> str:
    if len(detail) <= LONGEST_DETAIL:
        return detail
    return detail[: LONGEST_DETAIL - len(CUT)] + CUT


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


def encode_certificate(certificate: Certificate) -> pb.Certificate:
    """Return ``certificate`` as the contract's message."""
    dual = certificate.dual
    return pb.Certificate(
        status=pb.ProofStatus.Name(certificate.status.value),
        method=pb.ProofMethod.Name(certificate.method.value),
        dual_bound=None if dual is None else _dual(dual),
    )


def _dual(dual: DualBound) -> pb.DualBound:
    return pb.DualBound(
        scale=dual.scale,
        pods=[pb.PodPrice(pod_uids=one.pod_uids, pod=one.pod, run=one.run) for one in dual.pods],
        requirements=[
            pb.RequirementPrice(priority=one.priority, phase=pb.Phase.Name(one.phase), price=one.price)
            for one in dual.requirements
        ],
    )
