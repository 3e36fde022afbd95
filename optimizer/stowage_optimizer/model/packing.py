"""The packing problem: what is left of a snapshot when only numbers matter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stowage_optimizer.model.bins import Bins
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.problem import NOWHERE, Indices, Problem, make_problem
from stowage_optimizer.model.snapshot import Refusal, Snapshot
from stowage_optimizer.model.tie import Tie

Assignment = tuple[int | None, ...]
"""Node index of each item, None where it has none; shape ``(items,)``."""

NO_SNAPSHOT = Snapshot("", (), {}, Pods())
"""Of problems that are made without one."""


@dataclass(frozen=True, slots=True)
class ItemKind:
    """What replicas share that a plan may place, move or evict.

    Parameters
    ----------
    priority
        Larger is more important.
    demand
        What one takes of a node, one amount a dimension.
    eligible
        Indices of the nodes they may be on, ascending; holds the homes of all of them.
    requests
        What one asks for of devices that pods share or that overlap: numbers of the snapshot's device requests, in the
        scheduler's order.
    worth
        What placing one counts.
    """

    priority: int
    demand: tuple[int, ...]
    eligible: tuple[int, ...]
    requests: tuple[int, ...] = ()
    worth: int = 1


@dataclass(frozen=True, eq=False)
class Packing:
    """Items and the room that they share.

    Parameters
    ----------
    room
        Room for items, shape ``(nodes, dimensions)``: allocatable less reservations
        and less the pods that stay anyway. Negative on an overcommitted node.
    kinds
        What items share, no two the same.
    kind
        Index into ``kinds`` by item, shape ``(items,)``.
    home
        Node by item or ``NOWHERE``, shape ``(items,)``.
    pod_uids
        The pod of each item.
    tiers
        Distinct priorities of the items, highest first.
    ties
        What ties the items to each other beyond room. Strategies leave it out: `stowage_optimizer.stages.tied`
        keeps it.
    bins
        Devices that items share or that overlap; None if no item asks for any. What each kind asks for is filled in by
        `problem`.
    device_weights
        Weight of a device of each request, by its id, for each of the last dimensions: these stand for ``bins`` in a
        relaxation.
    """

    node_names: tuple[str, ...]
    room: tuple[tuple[int, ...], ...]
    kinds: tuple[ItemKind, ...]
    kind: Indices
    home: Indices
    pod_uids: Sequence[str]
    tiers: tuple[int, ...]
    refusals: tuple[Refusal, ...] = ()
    snapshot: Snapshot = NO_SNAPSHOT
    ties: tuple[Tie, ...] = ()
    bins: Bins | None = None
    device_weights: tuple[Mapping[str, int], ...] = ()

    @cached_property
    def problem(self) -> Problem:
        """The same as flat arrays."""
        tier_of = {priority: index for index, priority in enumerate(self.tiers)}
        kinds = [(one.demand, tier_of[one.priority], one.eligible) for one in self.kinds]
        bins = None if self.bins is None else self.bins.asking([one.requests for one in self.kinds])
        worth = [one.worth for one in self.kinds]
        return make_problem(kinds, self.kind, self.home, self.room, len(self.tiers), bins=bins, worth=worth)

    @cached_property
    def worth(self) -> int:
        """What placing all items counts."""
        return sum(one.worth for one in self.kind_of)

    @cached_property
    def kind_of(self) -> tuple[ItemKind, ...]:
        """The kind of each item."""
        return tuple(self.kinds[number] for number in self.kind.tolist())

    @cached_property
    def current(self) -> Assignment:
        """The assignment that changes nothing."""
        return as_assignment(self.home)

    @property
    def divisible(self) -> bool:
        """Whether a part of a plan keeps every tie that the whole keeps."""
        return all(tie.divisible for tie in self.ties)

    @property
    def gregarious(self) -> bool:
        """Whether plans that are made without ties are mostly far from keeping them."""
        return any(tie.gregarious for tie in self.ties)

    @cached_property
    def pod_numbers(self) -> Indices:
        """Index of each item's pod in the snapshot, shape ``(items,)``."""
        number = {uid: at for at, uid in enumerate(self.snapshot.pods.uid)}
        return np.array([number[uid] for uid in self.pod_uids], np.int32)

    @cached_property
    def staying(self) -> tuple[int, ...]:
        """Indices of the snapshot's running pods that are no items, ascending."""
        stays = self.snapshot.pods.running.copy()
        stays[self.pod_numbers] = False
        return tuple(np.flatnonzero(stays).tolist())

    @cached_property
    def class_ids(self) -> tuple[str, ...]:
        """The id of each item's class."""
        class_id = self.snapshot.pods.class_id
        return tuple(class_id[number] for number in self.pod_numbers.tolist())


def as_assignment(nodes: Indices) -> Assignment:
    """Return node indices as strategies exchange them."""
    return tuple(None if node == NOWHERE else node for node in nodes.tolist())


def as_nodes(assignment: Iterable[int | None]) -> Indices:
    """Return an assignment as compiled code takes it."""
    return np.array([NOWHERE if n is None else n for n in assignment], np.int32)
