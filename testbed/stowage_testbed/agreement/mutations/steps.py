"""Steps that lead elsewhere, come in another order, or are missing."""

from __future__ import annotations

from stowage_testbed.agreement.mutations.context import (
    Mutation,
    MutationContext,
    redirect,
    target,
)
from stowage_testbed.agreement.ordering import rearrange


def other_node(context: MutationContext) -> bool:
    """Send a pod to another node."""
    if not context.arrivals():
        return False
    redirect(context.rng.choice(context.arrivals()), context.any_node())
    return True


def swapped(context: MutationContext) -> bool:
    """Swap the targets of two pods."""
    arrivals = context.arrivals()
    if len(arrivals) < 2:  # noqa: PLR2004 - a swap takes two
        return False
    one, other = context.rng.sample(arrivals, 2)
    node = target(one)
    redirect(one, target(other))
    redirect(other, node)
    return True


def crowded(context: MutationContext) -> bool:
    """Send all pods to one node."""
    node = context.any_node()
    for step in context.arrivals():
        redirect(step, node)
    return bool(context.arrivals())


def left_out(context: MutationContext) -> bool:
    """Leave out a step that others may need."""
    plan = context.plan
    lists = [steps for steps in (plan.placements, plan.moves, plan.evictions) if steps]
    if not lists:
        return False
    steps = context.rng.choice(lists)
    del steps[context.rng.randrange(len(steps))]
    return True


def none_placed(context: MutationContext) -> bool:
    """Disrupt pods without a placement."""
    placed = bool(context.plan.placements)
    del context.plan.placements[:]
    return placed


def all_placed(context: MutationContext) -> bool:
    """Send every pod that still waits somewhere, gated and unsupported ones too."""
    placed = {one.pod_uid for one in context.plan.placements}
    waiting = [
        pod for pod in context.snapshot.pods if not pod.node and pod.uid not in placed
    ]
    for pod in waiting:
        context.plan.placements.add(pod_uid=pod.uid, node=context.any_node())
    return bool(waiting)


def reversed_steps(context: MutationContext) -> bool:
    """Reverse the order of the steps."""
    rearrange(context.plan, list.reverse)
    return bool(context.arrivals())


def moved_to_itself(context: MutationContext) -> bool:
    """Move a pod to its own node."""
    if not context.plan.moves:
        return False
    move = context.rng.choice(list(context.plan.moves))
    move.to_node = move.from_node
    return True


STEPS: tuple[Mutation, ...] = (
    other_node,
    swapped,
    crowded,
    left_out,
    none_placed,
    all_placed,
    reversed_steps,
    moved_to_itself,
)
