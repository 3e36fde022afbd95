"""Where every pod stood, from one moment to now: a base, and the changes since."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

from stowage_testbed.live_page.seen import PodState

MOST_CHANGES = 200_000
"""Changes that are kept; the older half of them becomes part of the base then."""

Entry = TypeVar("Entry", bound=Hashable)


class Standing(NamedTuple):
    """Where a pod stands: numbers of its kind, node and reason, -1 for none."""

    kind: int
    node: int
    state: int
    reason: int


ABSENT = Standing(-1, -1, PodState.ABSENT, -1)
WIDTH = 2 + len(Standing._fields)
"""Numbers of a change: time, pod, and where it stands from then on."""


class Numbers(Generic[Entry]):
    """Entries numbered in the order in which they first came."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._places: dict[Entry, int] = {}

    def __contains__(self, entry: object) -> bool:
        return entry in self._places

    def of(self, entry: Entry) -> int:
        """Return an entry's number, a new one if it was never seen."""
        place = self._places.setdefault(entry, len(self.entries))
        if place == len(self.entries):
            self.entries.append(entry)
        return place


class History:
    """Pods by number, where they stood at first, and every change since.

    Parameters
    ----------
    most_changes
        How many are kept.

    Attributes
    ----------
    pods
        Their UIDs, by number.
    base, now
        Where each stood before the first change that is kept, and stands now.
    log
        The changes: `WIDTH` numbers each, times in milliseconds.
    """

    def __init__(self, most_changes: int = MOST_CHANGES) -> None:
        self._most = most_changes
        self.pods: Numbers[str] = Numbers()
        self.base: list[Standing] = []
        self.now: list[Standing] = []
        self.log = array("q")

    @property
    def full(self) -> bool:
        """Whether it has to be cut before it grows on."""
        return len(self.log) >= self._most * WIDTH

    def put(self, time_ms: int, uid: str, standing: Standing) -> bool:
        """Note where a pod stands; return whether that is news."""
        pod = self.pods.of(uid)
        if pod == len(self.now):
            self.now.append(ABSENT)
            self.base.append(ABSENT)
        if self.now[pod] == standing:
            return False
        self.now[pod] = standing
        self.log.extend((time_ms, pod, *standing))
        return True

    def present(self) -> Iterator[str]:
        """Yield the pods that stand somewhere now."""
        for uid, standing in zip(self.pods.entries, self.now, strict=True):
            if standing.state != PodState.ABSENT:
                yield uid

    def changes(self) -> Iterator[tuple[int, ...]]:
        """Yield the changes that are kept, the oldest first."""
        return _changes(self.log)

    def settle(self) -> None:
        """Forget how it came to be what it is now."""
        self.base, self.log = list(self.now), array("q")

    def cut(self) -> History:
        """Return the younger half, with pods numbered anew and none that it lacks."""
        half = len(self.log) // WIDTH // 2 * WIDTH
        base = list(self.base)
        for _, pod, *standing in _changes(self.log[:half]):
            base[pod] = Standing(*standing)
        left = History(self._most)
        later = list(_changes(self.log[half:]))
        changed = {change[1] for change in later}
        for pod, uid in enumerate(self.pods.entries):
            if base[pod].state != PodState.ABSENT or pod in changed:
                left.pods.of(uid)
                left.base.append(base[pod])
                left.now.append(self.now[pod])
        numbers = {pod: left.pods.of(self.pods.entries[pod]) for pod in sorted(changed)}
        left.log = array(
            "q",
            chain.from_iterable(
                (time_ms, numbers[pod], *standing) for time_ms, pod, *standing in later
            ),
        )
        return left

    def columns(self) -> dict[str, Any]:
        """Return the base column by column, as the browser reads it."""
        return {
            name: [standing[place] for standing in self.base]
            for place, name in enumerate(Standing._fields)
        }


def _changes(log: array[int]) -> Iterator[tuple[int, ...]]:
    return zip(*[iter(log)] * WIDTH, strict=True)
