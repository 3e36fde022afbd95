"""The way from the threads that read to the one that applies.

A reader must be back at its socket at once, or its next stamp is late. So it hands over
and reads on; parsed changes are applied elsewhere, as many at a time as have come.
"""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue

from stowage_testbed.errors import StowageError
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.source import Source


@dataclass(frozen=True, slots=True)
class Relisted:
    """A source as a new list shows it; what the list lacks was deleted meanwhile."""

    source: Source
    listed: tuple[Change, ...]
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Broken:
    """A watch that broke off."""

    error: StowageError


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing more will come."""


Arrival = Change | Relisted | Broken | Stopped


class Arrivals:
    """A queue that is emptied in one go."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Arrival] = SimpleQueue()

    def put(self, arrival: Arrival) -> None:
        """Hand one arrival over; never blocks."""
        self._queue.put(arrival)

    def take_all(self) -> list[Arrival]:
        """Return all that has come, in order; blocks until something has."""
        taken = [self._queue.get()]
        while not self._queue.empty():
            taken.append(self._queue.get())
        return taken
