"""Packings of a few pods, which are described one by one."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stowage_optimizer.model.packing import NO_SNAPSHOT, ItemKind, Packing, as_nodes
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Item:
    """One pod of a packing, for those who look at pods one by one.

    Parameters
    ----------
    home
        Index of the node it runs on (the paper's ``p.where``), None while pending.
    """

    pod_uid: str
    priority: int
    demand: tuple[int, ...]
    eligible: tuple[int, ...]
    home: int | None
    worth: int = 1


def packing_of(
    node_names: tuple[str, ...],
    room: tuple[tuple[int, ...], ...],
    items: Iterable[Item],
    tiers: tuple[int, ...],
    snapshot: Snapshot = NO_SNAPSHOT,
) -> Packing:
    """Return the packing of ``items``, which are described one by one."""
    items = tuple(items)
    kinds: dict[ItemKind, int] = {}
    of = [ItemKind(one.priority, one.demand, one.eligible, worth=one.worth) for one in items]
    kind = [kinds.setdefault(one, len(kinds)) for one in of]
    return Packing(
        node_names,
        room,
        tuple(kinds),
        np.array(kind, np.int32),
        as_nodes([one.home for one in items]),
        tuple(one.pod_uid for one in items),
        tiers,
        snapshot=snapshot,
    )
