"""What a solve found, as tables."""

from collections.abc import Iterator

from tabulate import tabulate

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.pods import UNSUPPORTED

FEW_POINTS = 2
"""A curve of its two ends repeats what the other tables show."""

SHOWN_POINTS = 10
"""About so many points of a curve are shown."""


def report(snapshot: pb.Snapshot, update: pb.SolveUpdate) -> str:
    """Return the last update of a solve as text for a terminal."""
    return "\n\n".join(_sections(snapshot, update))


def _sections(snapshot: pb.Snapshot, update: pb.SolveUpdate) -> Iterator[str]:
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    plan = update.plan
    yield _headline(snapshot, update)
    if plan.tiers:
        yield _tiers(plan)
    changes = [
        *(("place", names[one.pod_uid], "", one.node) for one in plan.placements),
        *(("move", names[one.pod_uid], one.from_node, one.to_node) for one in plan.moves),
        *(("evict", names[one.pod_uid], one.node, "") for one in plan.evictions),
    ]
    if changes:
        yield tabulate(changes, headers=["change", "pod", "from", "to"])
    if len(plan.gain_by_moves) > FEW_POINTS:
        yield tabulate([(one.moves, one.placed) for one in _few(plan)], headers=["with at most moves", "placed"])
    if update.refusals:
        yield tabulate(
            [(one.subject, one.reason, one.detail) for one in update.refusals],
            headers=["left alone", "reason", "detail"],
        )


def _few(plan: pb.Plan) -> list[pb.GainPoint]:
    """Return some points of the curve, with its ends."""
    points = list(plan.gain_by_moves)
    stride = max(1, len(points) // SHOWN_POINTS)
    return [*points[:-1:stride], points[-1]]


def _headline(snapshot: pb.Snapshot, update: pb.SolveUpdate) -> str:
    plan = update.plan
    reason = pb.EndReason.Name(update.end_reason).removeprefix("END_REASON_")
    proof = "proved optimal" if plan.optimal else "not proved optimal"
    if plan.optimal and (pods := _left_alone(snapshot, update)):
        proof = f"proved best but for {pods} pods that were left alone"
    text = (
        f"{reason} in {update.durations.total_s:.3f} s, {proof}: "
        f"{len(plan.placements)} placed, {len(plan.moves)} moved, "
        f"{len(plan.evictions)} evicted"
    )
    return f"{text}\n{update.message}" if update.message else text


def _left_alone(snapshot: pb.Snapshot, update: pb.SolveUpdate) -> int:
    """Count the pods of refused classes that no rule keeps: a proof skips them."""
    refused = {one.subject.removeprefix("class ") for one in update.refusals}
    return sum(
        pod.class_id in refused and (not pod.node or pod.movable or pod.immovable_reason == UNSUPPORTED)
        for pod in snapshot.pods
    )


def _tiers(plan: pb.Plan) -> str:
    rows = [
        (
            tier.priority,
            tier.placed_before,
            tier.placed,
            tier.upper_bound,
            tier.disruption,
            tier.disruption_lower_bound,
            "yes" if tier.optimal else "no",
        )
        for tier in plan.tiers
    ]
    headers = ["priority and above", "placed before", "placed", "at most", "disruption", "at least", "optimal"]
    return tabulate(rows, headers=headers)
