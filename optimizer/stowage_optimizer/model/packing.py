"""The packing problem: what is left of a snapshot when only numbers matter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stowage_optimizer.model.relations import Relations
from stowage_optimizer.model.snapshot import Pod, Refusal, Snapshot

Assignment = tuple[int | None, ...]
"""Node index of each item, None where it has none; shape ``(items,)``."""

NO_SNAPSHOT = Snapshot("", (), {}, ())
"""Of problems that are made without one."""


@dataclass(frozen=True, slots=True)
class Item:
    """A pod that a plan may place, move or evict.

    Parameters
    ----------
    priority
        Larger is more important.
    demand
        What it takes of a node, one amount a dimension.
    eligible
        Indices of the nodes it may be on, ascending; holds ``home``.
    home
        Index of the node it runs on (the paper's ``p.where``), None while pending.
    """

    pod_uid: str
    priority: int
    demand: tuple[int, ...]
    eligible: tuple[int, ...]
    home: int | None


class Disrupted(Enum):
    """Which disruptions an allowance counts."""

    EITHER = "moves and evictions"
    MOVES = "moves"
    EVICTIONS = "evictions"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Running items of which a plan may disrupt only so many.

    Parameters
    ----------
    members
        Indices of the items, ascending.
    most
        Disruptions at most.
    """

    members: tuple[int, ...]
    most: int
    counts: Disrupted = Disrupted.EITHER


@dataclass(frozen=True, slots=True)
class Packing:
    """Items and the room that they share.

    Parameters
    ----------
    room
        Room for items, shape ``(nodes, dimensions)``: allocatable less reservations
        and less the pods that stay anyway. Negative on an overcommitted node.
    tiers
        Distinct priorities of the items, highest first.
    relations
        What pods demand of each other beyond room, None if nothing. Assignments must
        go through `stowage_optimizer.strategies.repair` then.
    allowances
        What disruption budgets allow, of those only that do not allow for all of their
        pods. Strategies leave them out: `stowage_optimizer.strategies.related` keeps
        them.
    """

    node_names: tuple[str, ...]
    room: tuple[tuple[int, ...], ...]
    items: tuple[Item, ...]
    tiers: tuple[int, ...]
    refusals: tuple[Refusal, ...]
    relations: Relations | None = None
    snapshot: Snapshot = NO_SNAPSHOT
    allowances: tuple[Allowance, ...] = ()

    @property
    def current(self) -> Assignment:
        """The assignment that changes nothing."""
        return tuple(item.home for item in self.items)

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The snapshot's pod of each item."""
        pods = {pod.uid: pod for pod in self.snapshot.pods}
        return tuple(pods[item.pod_uid] for item in self.items)
