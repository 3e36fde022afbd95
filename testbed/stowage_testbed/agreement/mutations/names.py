"""Names that are wrong: pods, nodes, the snapshot."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.mutations.context import (
    Mutation,
    MutationContext,
    redirect,
)

UNKNOWN = "ghost"


def stale_snapshot(context: MutationContext) -> bool:
    """Answer a snapshot that is gone."""
    context.plan.snapshot_id = context.rng.choice(("", f"{context.snapshot.id}-0"))
    return True


def unknown_pod(context: MutationContext) -> bool:
    """Name a pod that does not exist."""
    if not context.steps():
        return False
    context.rng.choice(context.steps()).pod_uid = context.rng.choice((UNKNOWN, ""))
    return True


def unknown_node(context: MutationContext) -> bool:
    """Send a pod to a node that does not exist."""
    if not context.arrivals():
        return False
    step = context.rng.choice(context.arrivals())
    redirect(step, context.rng.choice((UNKNOWN, "")))
    return True


def named_twice(context: MutationContext) -> bool:
    """Place, move or evict a pod a second time."""
    if not context.steps():
        return False
    twin = context.rng.choice(context.steps())
    if isinstance(twin, pb.Placement):
        context.plan.placements.append(twin)
    elif isinstance(twin, pb.Move):
        context.plan.moves.append(twin)
    else:
        context.plan.evictions.append(twin)
    return True


def moved_and_gone(context: MutationContext) -> bool:
    """Evict a pod that is moved."""
    if not context.plan.moves:
        return False
    move = context.rng.choice(list(context.plan.moves))
    context.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)
    return True


def wrong_origin(context: MutationContext) -> bool:
    """Take a pod from a node that it is not on."""
    leaving: list[pb.Move | pb.Eviction] = [
        *context.plan.moves,
        *context.plan.evictions,
    ]
    if not leaving:
        return False
    step = context.rng.choice(leaving)
    if isinstance(step, pb.Move):
        step.from_node = context.any_node()
    else:
        step.node = context.any_node()
    return True


def placed_though_running(context: MutationContext) -> bool:
    """Place a running pod."""
    if not context.running():
        return False
    pod = context.rng.choice(context.running())
    context.plan.placements.add(pod_uid=pod.uid, node=context.any_node())
    return True


def moved_though_pending(context: MutationContext) -> bool:
    """Move a pending pod."""
    if not context.plan.placements:
        return False
    placement = context.plan.placements.pop()
    context.plan.moves.add(
        pod_uid=placement.pod_uid, from_node=context.any_node(), to_node=placement.node
    )
    return True


NAMES: tuple[Mutation, ...] = (
    stale_snapshot,
    unknown_pod,
    unknown_node,
    named_twice,
    moved_and_gone,
    wrong_origin,
    placed_though_running,
    moved_though_pending,
)
