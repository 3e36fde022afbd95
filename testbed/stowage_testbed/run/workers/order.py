"""What several workers report at a time, told as if one had done it all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

Telling = Callable[[], None]


class InOrder:
    """Tells of tasks in their order, each in one piece.

    The first that is not over is told of as it goes on, what the others report is kept
    until their turn. What is of no task waits for the end of one.
    """

    def __init__(self) -> None:
        self._now = 0
        self._over: set[int] = set()
        self._kept: defaultdict[int, list[Telling]] = defaultdict(list)
        self._between: list[Telling] = []
        self._within = False

    @property
    def holds_back(self) -> bool:
        """Whether a task that is over has not been told of."""
        return any(place > self._now for place in self._over)

    def tell(self, place: int, telling: Telling) -> None:
        """Tell of a task, now or in its turn."""
        if place == self._now:
            self._within = True
            telling()
        else:
            self._kept[place].append(telling)

    def tell_between(self, telling: Telling) -> None:
        """Tell of what is of no task."""
        if self._within:
            self._between.append(telling)
        else:
            telling()

    def end(self, place: int) -> None:
        """Note that a task is over, and turn to the next."""
        self._over.add(place)
        while self._now in self._over:
            self._turn_to(self._now + 1)

    def close(self) -> None:
        """Tell of what is kept: the tasks before it do not end any more."""
        for place in sorted(self._kept):
            self._turn_to(place)
        self._turn_to(self._now + 1)

    def _turn_to(self, place: int) -> None:
        self._now, self._within = place, False
        for telling in self._between:
            telling()
        self._between.clear()
        for telling in self._kept.pop(place, ()):
            self._within = True
            telling()
