"""A thread that follows one source, and its way to the one that applies changes.

A reader must be back at its socket at once, or its next stamp is late. So it hands over
and reads on; parsed changes are applied elsewhere, as many at a time as have come.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from urllib3.exceptions import HTTPError, ProtocolError

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.receipt import Receipt, ReceiptClock
from stowage_testbed.observe.source import Source
from stowage_testbed.observe.stream import HistoryGoneError, Stream, make_watch_error


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
class Interrupted:
    """A watch lost its connection, and is tried again."""

    source: Source
    receipt: Receipt
    why: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """A watch that was interrupted goes on."""

    source: Source
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing more will come."""


Arrival = Change | Relisted | Broken | Interrupted | Resumed | Stopped


class Arrivals:
    """A queue that is emptied in one go."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Arrival] = SimpleQueue()

    def put(self, arrival: Arrival) -> None:
        """Hand one arrival over; never blocks."""
        self._queue.put(arrival)

    def take_all(self, timeout_s: float | None = None) -> list[Arrival]:
        """Return all that has come, in order; blocks until something has.

        With a timeout it returns nothing when that is over.
        """
        try:
            taken = [self._queue.get(timeout=timeout_s)]
        except Empty:
            return []
        while not self._queue.empty():
            taken.append(self._queue.get())
        return taken


JOIN_TIMEOUT_S = 5.0
RETRY_S = 0.1
"""Pause before a server that is away is asked again; it doubles each time."""
LONGEST_RETRY_S = 1.0


@dataclass(slots=True)
class Patience:
    """How long the server may be away before a watch counts as broken."""

    seconds: float = 0.0


class Follower:
    """Follows a source, whose list was already taken, until it is stopped.

    Parameters
    ----------
    source, stream
        What is followed, and the stream after its list.
    arrivals
        Where changes go.
    clock
        Stamps a new list.
    patience
        Read when the server is away.
    """

    def __init__(
        self, source: Source, stream: Stream, arrivals: Arrivals, clock: ReceiptClock, patience: Patience
    ) -> None:
        self._source = source
        self._stream = stream
        self._arrivals = arrivals
        self._clock = clock
        self._patience = patience
        self._stopping = threading.Event()
        self._lost = False
        self._thread = threading.Thread(target=self._follow, name=f"watch-{source.kind}", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the watch, and do not wait for it."""
        self._stopping.set()
        self._stream.close()

    def stop(self) -> None:
        """End the watch and wait for the thread."""
        self.cancel()
        self._thread.join(JOIN_TIMEOUT_S)

    def _follow(self) -> None:
        heard, pause_s = self._clock.now(), RETRY_S
        while not self._stopping.is_set():
            began = self._clock.now()
            try:
                self._follow_once()
            except (StowageError, HTTPError, OSError) as error:
                if began.seconds_since(heard) >= self._patience.seconds:
                    self._fail(error)
                    return
                self._lose(str(error))
                self._stopping.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_RETRY_S)
            else:
                heard, pause_s = self._clock.now(), RETRY_S

    def _follow_once(self) -> None:
        try:
            for change in self._stream.watch(self._regain):
                self._arrivals.put(change)
        except HistoryGoneError:
            self._lose("the server no longer had what came after the last change")
            listed = tuple(self._stream.list_all())
            # What the list lacks went before it: by a later stamp it would seem to have
            # been there together with what the list shows.
            receipt = listed[0].receipt if listed else self._clock.now()
            self._arrivals.put(Relisted(self._source, listed, receipt))
        except ProtocolError as error:
            # The connection was cut in the middle of a line; the next watch resumes
            # from the last whole change, and fails if the server is gone.
            self._lose(str(error))

    def _lose(self, why: str) -> None:
        if not self._lost and not self._stopping.is_set():
            self._lost = True
            self._arrivals.put(Interrupted(self._source, self._clock.now(), why))

    def _regain(self) -> None:
        if self._lost:
            self._lost = False
            self._arrivals.put(Resumed(self._source, self._clock.now()))

    def _fail(self, error: Exception) -> None:
        if self._stopping.is_set():
            return
        if not isinstance(error, StowageError):
            error = make_watch_error(self._source, str(error))
        self._arrivals.put(Broken(error))
