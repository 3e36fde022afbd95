"""The plan: which pods are placed, moved or displaced, and what is proved of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stowage_optimizer.model.certificate import NOTHING_PROVED, Certificate


@dataclass(frozen=True, slots=True)
class Placement:
    """A pending pod gets a node."""

    pod_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class Move:
    """A running pod is evicted here and bound there."""

    pod_uid: str
    from_node: str
    to_node: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """A running pod is left unplaced."""

    pod_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class TierResult:
    """What the plan does for the pods of ``priority`` and above.

    Parameters
    ----------
    priority
        Lowest priority of the tier; larger is more important.
    placed_before, placed
        Pods of the tier that have a node before and after the plan.
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
    """With at most so many ``moves`` a part of the plan has ``placed`` pods placed."""

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
        Proved limit on the moves, given ``after``.
    """

    before: int
    after: int
    lower_bound: int
    moves_lower_bound: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One answer to a snapshot; without changes it keeps everything as it is."""

    snapshot_id: str
    placements: tuple[Placement, ...] = ()
    moves: tuple[Move, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    tiers: tuple[TierResult, ...] = ()
    gain_by_moves: tuple[GainPoint, ...] = ()
    nodes_in_use: NodesInUse | None = None

    @property
    def optimal(self) -> bool:
        """Whether every tier is optimal."""
        return all(tier.optimal for tier in self.tiers)

    @property
    def empty(self) -> bool:
        """Whether the plan changes nothing."""
        return not (self.placements or self.moves or self.evictions)


class EndReason(Enum):
    """Why a solve ended; the value is the contract's number."""

    OPTIMAL = 1
    TIME_LIMIT = 2
    NO_IMPROVEMENT = 3
    INFEASIBLE_INPUT = 4
    CANCELLED = 5
    ERROR = 6
