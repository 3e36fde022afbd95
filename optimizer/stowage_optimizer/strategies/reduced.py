"""The packing problem of a snapshot, reduced once however many ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot


def reduced(snapshot: Snapshot) -> Packing:
    """Return the packing problem of ``snapshot``; the last one is remembered.

    A strategy, those it is made of and what finishes its plans look at one and the
    same snapshot in one process, and reducing a large one takes a while.
    """
    return _reduced(_Same(snapshot))


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A snapshot that equals itself only: to compare contents would take too long."""

    snapshot: Snapshot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.snapshot is self.snapshot

    def __hash__(self) -> int:
        return id(self.snapshot)


@lru_cache(maxsize=1)
def _reduced(same: _Same) -> Packing:
    return reduce_snapshot(same.snapshot)
