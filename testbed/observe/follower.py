"""A thread that follows one source and hands over what it sees."""

from __future__ import annotations

import threading

from urllib3.exceptions import HTTPError, ProtocolError

from testbed.errors import StowageError
from testbed.observe.arrivals import Arrivals, Broken, Relisted
from testbed.observe.errors import WatchFailedError
from testbed.observe.receipt import ReceiptClock
from testbed.observe.source import Source
from testbed.observe.stream import HistoryGoneError, Stream

JOIN_TIMEOUT_S = 5.0


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
    """

    def __init__(
        self, source: Source, stream: Stream, arrivals: Arrivals, clock: ReceiptClock
    ) -> None:
        self._source = source
        self._stream = stream
        self._arrivals = arrivals
        self._clock = clock
        self._stopping = False
        self._thread = threading.Thread(
            target=self._follow, name=f"watch-{source.kind}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the watch and wait for the thread."""
        self._stopping = True
        self._stream.close()
        self._thread.join(JOIN_TIMEOUT_S)

    def _follow(self) -> None:
        try:
            while not self._stopping:
                self._follow_once()
        except StowageError as error:
            self._fail(error)
        except (HTTPError, OSError) as error:
            self._fail(WatchFailedError(self._source.kind, str(error)))

    def _follow_once(self) -> None:
        try:
            for change in self._stream.watched():
                self._arrivals.put(change)
        except HistoryGoneError:
            listed = tuple(self._stream.listed())
            # What the list lacks went before it: by a later stamp it would seem to have
            # been there together with what the list shows.
            receipt = listed[0].receipt if listed else self._clock.now()
            self._arrivals.put(Relisted(self._source, listed, receipt))
        except ProtocolError:
            # The connection was cut in the middle of a line; the next watch resumes
            # from the last whole change, and fails if the server is gone.
            return

    def _fail(self, error: StowageError) -> None:
        if not self._stopping:
            self._arrivals.put(Broken(error))
