"""The outbox of a child: the newest plan goes out, those that it overtook do not.

A search may find a thousand better plans a second, each of which the service would have
to check. They go out from a thread of their own, so that the search does not wait, at
most one in each interval; the newest one never waits longer than that.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from stowage_optimizer.model.options import Clock
from stowage_optimizer.model.solution import Solution

INTERVAL_S = 0.02
"""Shortest time between two plans: a fifth of what a user notices."""

Send = Callable[[Solution, float], None]
"""Called with a solution and the moment it was found."""


class Outbox:
    """Sends what is published, for as long as the ``with`` block lasts.

    A plan that waits at the end is sent only if the block failed: otherwise the
    answer, which is at least as good, follows at once.

    Parameters
    ----------
    send
        Sends one plan; called from the outbox's thread.
    """

    def __init__(self, send: Send, *, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._send = send
        self._clock = clock
        self._interval_s = interval_s
        self._changed = threading.Condition()
        self._newest: tuple[Solution, float] | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._deliver, daemon=True)

    def __enter__(self) -> Self:
        """Start sending."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop sending; nothing is sent after this returns."""
        with self._changed:
            if kind is None:
                self._newest = None
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def publish(self, found: Solution) -> None:
        """Send ``found`` as soon as the interval allows, unless a newer one comes."""
        with self._changed:
            self._newest = found, self._clock()
            self._changed.notify_all()

    def _deliver(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closed)
                if self._newest is None:
                    return
                (found, moment), self._newest = self._newest, None
            try:
                self._send(found, moment)
            except OSError:
                # The reader is gone, and this process is about to be killed.
                return
            if not found.empty:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, self._interval_s)
