"""Pods of one kind together: what replicas share, and where each of them is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from stowage_optimizer.model.packing import Packing


@dataclass(frozen=True, slots=True)
class Replicas:
    """Items that differ in their homes only.

    Parameters
    ----------
    priority, demand, eligible
        As of each `Item`.
    pending
        Indices of those without a node.
    at_home
        Indices of the others by their node.
    """

    priority: int
    demand: tuple[int, ...]
    eligible: tuple[int, ...]
    pending: tuple[int, ...]
    at_home: Mapping[int, tuple[int, ...]]

    @property
    def running(self) -> int:
        """How many have a node."""
        return sum(len(members) for members in self.at_home.values())

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.pending) + self.running


def replicas_of(packing: Packing, tiers: int) -> list[Replicas]:
    """Return the items of the first ``tiers`` tiers by kind, in order of appearance."""
    if not tiers:
        return []
    lowest = packing.tiers[tiers - 1]
    kinds: dict[tuple[object, ...], dict[int | None, list[int]]] = {}
    for index, item in enumerate(packing.items):
        if item.priority >= lowest:
            key = (item.priority, item.demand, item.eligible)
            kinds.setdefault(key, defaultdict(list))[item.home].append(index)
    return [_replicas(packing, homes) for homes in kinds.values()]


def _replicas(packing: Packing, homes: Mapping[int | None, list[int]]) -> Replicas:
    item = packing.items[next(iter(homes.values()))[0]]
    return Replicas(
        priority=item.priority,
        demand=item.demand,
        eligible=item.eligible,
        pending=tuple(homes.get(None, ())),
        at_home={
            home: tuple(members) for home, members in homes.items() if home is not None
        },
    )
