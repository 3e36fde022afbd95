"""Mutations of a plan: one function each.

Each changes the plan in its context and returns whether it found anything to change.
Whether that breaks a rule depends on the cluster: that is what is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from benchmarks.agreement.plans import rearrange
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Index
from stowage_optimizer.verify.movability import covers


@dataclass(frozen=True, slots=True)
class MutationContext:
    """What a mutation works on.

    Attributes
    ----------
    rng
        Source of every random choice.
    index
        The snapshot of the cluster, indexed.
    snapshot
        The same as it came.
    plan
        The plan, to be changed.
    """

    rng: Random
    index: Index
    snapshot: pb.Snapshot
    plan: pb.Plan

    def arrivals(self) -> list[pb.Placement | pb.Move]:
        """Return the steps that bring a pod to a node."""
        return [*self.plan.placements, *self.plan.moves]

    def steps(self) -> list[pb.Placement | pb.Move | pb.Eviction]:
        """Return every step."""
        return [*self.arrivals(), *self.plan.evictions]

    def any_node(self) -> str:
        """Return a node's name."""
        return self.rng.choice(list(self.index.nodes))

    def running(self) -> list[pb.Pod]:
        """Return the pods that run and that the plan leaves alone."""
        named = {step.pod_uid for step in self.steps()}
        return [pod for pod in self.snapshot.pods if pod.node and pod.uid not in named]

    def disrupt(self, pod: pb.Pod) -> None:
        """Move the pod somewhere, or evict it."""
        if self.rng.randrange(2):
            self.plan.evictions.add(pod_uid=pod.uid, node=pod.node)
        else:
            to_node = self.any_node()
            self.plan.moves.add(pod_uid=pod.uid, from_node=pod.node, to_node=to_node)


Mutation = Callable[[MutationContext], bool]


def redirect(step: pb.Placement | pb.Move, node: str) -> None:
    """Send the pod of ``step`` to ``node``."""
    if isinstance(step, pb.Move):
        step.to_node = node
    else:
        step.node = node


def target(step: pb.Placement | pb.Move) -> str:
    """Return where the pod of ``step`` is sent."""
    return step.to_node if isinstance(step, pb.Move) else step.node


def false_count(context: MutationContext) -> bool:
    """Claim to place one more."""
    for tier in context.plan.tiers:
        tier.placed += 1
        tier.upper_bound += 1
    return bool(context.plan.tiers)


def false_limit(context: MutationContext) -> bool:
    """Claim a limit that is already passed."""
    for tier in context.plan.tiers:
        tier.upper_bound = tier.placed - 1
    return bool(context.plan.tiers)


def false_optimum(context: MutationContext) -> bool:
    """Claim optimality, without a limit that proves it."""
    context.plan.optimal = not context.plan.optimal
    return True


def no_tiers(context: MutationContext) -> bool:
    """Claim nothing at all."""
    claimed = bool(context.plan.tiers)
    del context.plan.tiers[:]
    return claimed


def false_curve(context: MutationContext) -> bool:
    """Claim that more moves gain less."""
    context.plan.gain_by_moves.add(moves=0, placed=len(context.snapshot.pods) + 1)
    return True


def false_nodes(context: MutationContext) -> bool:
    """Claim that no node is in use."""
    context.plan.nodes_in_use.before = len(context.snapshot.nodes) + 1
    return True


CLAIMS: tuple[Mutation, ...] = (
    false_count,
    false_limit,
    false_optimum,
    no_tiers,
    false_curve,
    false_nodes,
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


MUTATIONS: tuple[Mutation, ...] = (*NAMES, *STEPS, *DISRUPTIONS)
"""Those that change what the plan does."""
