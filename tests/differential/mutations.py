"""Mutations of a plan: one function each.

Each changes the plan in its context and returns whether it found anything to change.
Whether that breaks a rule depends on the cluster: that is what is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from random import Random
from typing import Any, TypeVar

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index
from stowage_optimizer.verify.terms import covers
from tests.differential.plans import rearrange

Arrival = pb.Placement | pb.Move
Step = Arrival | pb.Eviction


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

    def arrivals(self) -> list[Arrival]:
        """Return the steps that bring a pod to a node."""
        return [*self.plan.placements, *self.plan.moves]

    def steps(self) -> list[Step]:
        """Return every step."""
        return [*self.arrivals(), *self.plan.evictions]

    def any_node(self) -> str:
        """Return a node's name."""
        return self.rng.choice(list(self.index.nodes))

    def moves(self) -> list[pb.Move]:
        """Return the steps that move a pod."""
        return list(self.plan.moves)

    def leaving(self) -> list[pb.Move | pb.Eviction]:
        """Return the steps that take a pod off its node."""
        return [*self.plan.moves, *self.plan.evictions]

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


T = TypeVar("T")
Mutation = Callable[[MutationContext], bool]


def of_one(
    choices: Callable[[MutationContext], Sequence[T]],
) -> Callable[[Callable[[MutationContext, T], object]], Mutation]:
    """Let a mutation change one of ``choices``, drawn at random, if there is any."""

    def mutation_of(change: Callable[[MutationContext, T], object]) -> Mutation:
        @wraps(change)
        def mutation(context: MutationContext) -> bool:
            found = choices(context)
            if found:
                change(context, context.rng.choice(found))
            return bool(found)

        return mutation

    return mutation_of


def redirect(step: Arrival, node: str) -> None:
    """Send the pod of ``step`` to ``node``."""
    if isinstance(step, pb.Move):
        step.to_node = node
    else:
        step.node = node


def target(step: Arrival) -> str:
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


@of_one(MutationContext.steps)
def unknown_pod(context: MutationContext, step: Step) -> None:
    """Name a pod that does not exist."""
    step.pod_uid = context.rng.choice((UNKNOWN, ""))


@of_one(MutationContext.arrivals)
def unknown_node(context: MutationContext, step: Arrival) -> None:
    """Send a pod to a node that does not exist."""
    redirect(step, context.rng.choice((UNKNOWN, "")))


@of_one(MutationContext.steps)
def named_twice(context: MutationContext, twin: Step) -> None:
    """Place, move or evict a pod a second time."""
    if isinstance(twin, pb.Placement):
        context.plan.placements.append(twin)
    elif isinstance(twin, pb.Move):
        context.plan.moves.append(twin)
    else:
        context.plan.evictions.append(twin)


@of_one(MutationContext.moves)
def moved_and_gone(context: MutationContext, move: pb.Move) -> None:
    """Evict a pod that is moved."""
    context.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)


@of_one(MutationContext.leaving)
def wrong_origin(context: MutationContext, step: pb.Move | pb.Eviction) -> None:
    """Take a pod from a node that it is not on."""
    if isinstance(step, pb.Move):
        step.from_node = context.any_node()
    else:
        step.node = context.any_node()


@of_one(MutationContext.running)
def placed_though_running(context: MutationContext, pod: pb.Pod) -> None:
    """Place a running pod."""
    context.plan.placements.add(pod_uid=pod.uid, node=context.any_node())


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


@of_one(MutationContext.arrivals)
def other_node(context: MutationContext, step: Arrival) -> None:
    """Send a pod to another node."""
    redirect(step, context.any_node())


def swapped(context: MutationContext) -> bool:
    """Swap the targets of two pods."""
    arrivals = context.arrivals()
    if len(arrivals) < 2:
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


def _lists(context: MutationContext) -> list[Any]:
    plan = context.plan
    return [steps for steps in (plan.placements, plan.moves, plan.evictions) if steps]


@of_one(_lists)
def left_out(context: MutationContext, steps: Any) -> None:
    """Leave out a step that others may need."""
    del steps[context.rng.randrange(len(steps))]


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


@of_one(MutationContext.moves)
def moved_to_itself(_: MutationContext, move: pb.Move) -> None:
    """Move a pod to its own node."""
    move.to_node = move.from_node


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


@of_one(lambda context: [pod for pod in context.running() if pod.movable])
def movable_goes(context: MutationContext, pod: pb.Pod) -> None:
    """Disrupt one more pod that may be disrupted."""
    context.disrupt(pod)


@of_one(lambda context: [pod for pod in context.running() if not pod.movable])
def protected_goes(context: MutationContext, pod: pb.Pod) -> None:
    """Disrupt a pod that may not be disrupted."""
    context.disrupt(pod)


def higher_goes(context: MutationContext) -> bool:
    """Evict a pod of the highest priority of all that run."""
    running = context.running()
    if not running:
        return False
    pod = max(running, key=lambda pod: context.index.priority[pod.class_id])
    context.plan.evictions.add(pod_uid=pod.uid, node=pod.node)
    return True


@of_one(MutationContext.moves)
def evicted_instead(context: MutationContext, move: pb.Move) -> None:
    """Evict a pod that the plan moves."""
    context.plan.evictions.add(pod_uid=move.pod_uid, node=move.from_node)
    context.plan.moves.remove(move)


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
