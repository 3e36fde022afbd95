"""Further pods are moved or evicted."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.movability import covers
from stowage_testbed.agreement.mutations.context import Mutation, MutationContext


def movable_goes(context: MutationContext) -> bool:
    """Disrupt one more pod that may be disrupted."""
    return _disrupt_one(context, [pod for pod in context.running() if pod.movable])


def protected_goes(context: MutationContext) -> bool:
    """Disrupt a pod that may not be disrupted."""
    return _disrupt_one(context, [pod for pod in context.running() if not pod.movable])


def higher_goes(context: MutationContext) -> bool:
    """Evict a pod of the highest priority of all that run."""
    running = context.running()
    if not running:
        return False
    pod = max(running, key=lambda pod: context.index.priority[pod.class_id])
    context.plan.evictions.add(pod_uid=pod.uid, node=pod.node)
    return True


def evicted_instead(context: MutationContext) -> bool:
    """Evict a pod that the plan moves."""
    if not context.plan.moves:
        return False
    moves = list(context.plan.moves)
    move = moves.pop(context.rng.randrange(len(moves)))
    del context.plan.moves[:]
    context.plan.moves.extend(moves)
    context.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)
    return True


def budget_overdrawn(context: MutationContext) -> bool:
    """Disrupt all pods of a disruption budget."""
    budgets = list(context.snapshot.disruption_budgets)
    if not budgets:
        return False
    budget = context.rng.choice(budgets)
    members = [
        pod
        for pod in context.running()
        if covers(budget, context.index.classes[pod.class_id])
    ]
    for pod in members:
        context.disrupt(pod)
    return bool(members)


def two_change_places(context: MutationContext) -> bool:
    """Let two pods on different nodes go round in a circle."""
    movable = [pod for pod in context.running() if pod.movable]
    context.rng.shuffle(movable)
    if not movable:
        return False
    one = movable[0]
    for other in movable:
        if other.node != one.node:
            moves = context.plan.moves
            moves.add(pod_uid=one.uid, from_node=one.node, to_node=other.node)
            moves.add(pod_uid=other.uid, from_node=other.node, to_node=one.node)
            return True
    return False


def _disrupt_one(context: MutationContext, pods: list[pb.Pod]) -> bool:
    if pods:
        context.disrupt(context.rng.choice(pods))
    return bool(pods)


DISRUPTIONS: tuple[Mutation, ...] = (
    movable_goes,
    protected_goes,
    higher_goes,
    evicted_instead,
    budget_overdrawn,
    two_change_places,
)
