"""The plan to mutate, and the cluster that it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Index


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
