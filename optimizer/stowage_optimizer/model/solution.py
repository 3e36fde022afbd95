"""A solution: where each pod ends up, and what is proved of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from stowage_optimizer.model.certificate import NOTHING_PROVED, Certificate
from stowage_optimizer.model.packing import Assignment, Packing, as_nodes
from stowage_optimizer.model.problem import NOWHERE
from stowage_optimizer.model.snapshot import Refusal


@dataclass(frozen=True, slots=True)
class TierResult:
    """What a solution does for the pods of ``priority`` and above.

    Parameters
    ----------
    priority
        Lowest priority of the tier; larger is more important.
    placed_before, placed
        What the pods of the tier that have a node count, before and after: one each,
        unless their classes say otherwise.
    upper_bound
        Proved limit on ``placed``, given what the tiers above reached.
    optimal
        Nothing better exists for this tier or for any above.
    disruption
        Sum over running pods: 0 stays, 2 moves, 3 is left unplaced.
    disruption_lower_bound
        Proved limit on ``disruption``, given ``placed``.
    place, disrupt
        How ``upper_bound`` and ``disruption_lower_bound`` are proved.
    """

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int
    place: Certificate = NOTHING_PROVED
    disrupt: Certificate = NOTHING_PROVED


@dataclass(frozen=True, slots=True)
class GainPoint:
    """With at most so many ``moves`` the pods that a part of the plan places count ``placed``."""

    moves: int
    placed: int


@dataclass(frozen=True, slots=True)
class NodesInUse:
    """How many nodes a plan that consolidates leaves in use.

    Parameters
    ----------
    before, after
        Nodes that hold a pod which would not go with its node.
    lower_bound
        Proved limit on ``after``, within the limits that were asked for.
    moves_lower_bound
        Proved limit on the moves, given ``after``, or what these cost.
    price_before_micros, price_after_micros
        What an hour of them costs; 0 where no node has a price.
    price_lower_bound_micros
        Proved limit on ``price_after_micros``, within the limits that were asked for.
    """

    before: int
    after: int
    lower_bound: int
    moves_lower_bound: int
    price_before_micros: int = 0
    price_after_micros: int = 0
    price_lower_bound_micros: int = 0

    @property
    def least(self) -> bool:
        """Whether what is left in use is proved to be the cheapest, or the fewest."""
        fewest = self.after == self.lower_bound
        cheapest = self.price_after_micros == self.price_lower_bound_micros
        return cheapest if self.price_before_micros else fewest


@dataclass(frozen=True, slots=True)
class Turn:
    """When a pod comes to its node, and which of the node's devices it is given then.

    Parameters
    ----------
    number
        From 1; no two pods have the same.
    devices
        Indices into the layout of the node, in the order of the pod's requests.
    """

    number: int
    devices: tuple[int, ...]


class EndReason(Enum):
    """Why a solve ended; the value is the contract's number."""

    OPTIMAL = 1
    TIME_LIMIT = 2
    NO_IMPROVEMENT = 3


@dataclass(frozen=True, slots=True)
class Solution:
    """One answer to a packing problem; without changes it keeps everything as it is.

    Parameters
    ----------
    tiers
        What is reached and proved, the highest tier first.
    turns
        Of the items that come to nodes for devices.
    """

    packing: Packing
    assignment: Assignment
    tiers: tuple[TierResult, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    message: str = ""
    gain_by_moves: tuple[GainPoint, ...] = ()
    nodes_in_use: NodesInUse | None = None
    turns: Mapping[int, Turn] = field(default_factory=dict)

    @property
    def optimal(self) -> bool:
        """Whether every tier is optimal."""
        return all(tier.optimal for tier in self.tiers)

    @property
    def empty(self) -> bool:
        """Whether it changes nothing."""
        return self.assignment == self.packing.current

    @property
    def moves(self) -> int:
        """How many running pods change their node."""
        nodes, home = as_nodes(self.assignment), self.packing.home
        moved = (nodes != home) & (nodes != NOWHERE) & (home != NOWHERE)
        return int(moved.sum())

    @property
    def end_reason(self) -> EndReason:
        """Why a strategy ended that ended by itself with this."""
        if self.empty:
            return EndReason.NO_IMPROVEMENT
        proved, left = self.optimal, self.nodes_in_use
        if left is not None:
            proved = left.least and self.moves == left.moves_lower_bound
        return EndReason.OPTIMAL if proved else EndReason.TIME_LIMIT

    def on(self, packing: Packing) -> Assignment:
        """Return the same for another problem of the same nodes, pod by pod.

        Pods that are only in the other problem stay where they are.
        """
        if packing.pod_uids is self.packing.pod_uids:
            return self.assignment
        after = dict(zip(self.packing.pod_uids, self.assignment, strict=True))
        pairs = zip(packing.pod_uids, packing.current, strict=True)
        return tuple(after.get(uid, home) for uid, home in pairs)


Publish = Callable[[Solution], None]
"""Called with each solution that is better than the one before."""
