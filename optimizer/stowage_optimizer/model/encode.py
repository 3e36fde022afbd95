"""From the model back to the contract's messages."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.codec import write
from stowage_optimizer.model.packing import as_nodes
from stowage_optimizer.model.snapshot import Refusal
from stowage_optimizer.model.solution import Solution, Turn

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
        tiers=[write(pb.TierResult, tier) for tier in solution.tiers],
        optimal=solution.optimal,
        gain_by_moves=[write(pb.GainPoint, point) for point in solution.gain_by_moves],
        nodes_in_use=None if in_use is None else write(pb.NodesInUse, in_use),
    )
    gang_of = {class_id: one.gang for class_id, one in packing.snapshot.classes.items() if one.gang}
    names, nodes, homes = packing.node_names, solution.assignment, packing.current
    for item in np.flatnonzero(as_nodes(nodes) != packing.home).tolist():
        uid, home, node = packing.pod_uids[item], homes[item], nodes[item]
        gang = gang_of.get(packing.class_ids[item]) if gang_of else None
        unit = f"gang/{gang}" if gang else ""
        if home is None:
            assert node is not None  # noqa: S101 - it changes
            _take_turn(plan.placements.add(pod_uid=uid, node=names[node], unit=unit), solution.turns.get(item))
        elif node is None:
            plan.evictions.add(pod_uid=uid, node=names[home], unit=unit)
        else:
            move = plan.moves.add(pod_uid=uid, from_node=names[home], to_node=names[node], unit=unit)
            _take_turn(move, solution.turns.get(item))
    return plan


def _take_turn(arrival: pb.Placement | pb.Move, turn: Turn | None) -> None:
    if turn is not None:
        arrival.turn = turn.number
        arrival.devices.extend(turn.devices)


def encode_refusals(refusals: Iterable[Refusal]) -> list[pb.Refusal]:
    """Return ``refusals`` as the contract's messages, with details of a few lines.

    A detail may name all budgets of a namespace, and there is one for each class.
    """
    return [write(pb.Refusal, replace(one, detail=_cut(one.detail))) for one in refusals]


def _cut(detail: str) -> str:
    if len(detail) <= LONGEST_DETAIL:
        return detail
    return detail[: LONGEST_DETAIL - len(CUT)] + CUT
