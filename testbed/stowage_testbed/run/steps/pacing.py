"""Doing things at their times, on the clock that everything is measured with.

Each time is counted from one start, so that a pause which is too long does not put off
all that follow. What comes too late is done at once, and counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.receipt import NS_PER_S, ReceiptClock

WRITERS = 4
"""Requests on their way at a time; one alone sends some 200 a second at most."""

LATE_S = 0.05
"""From here on an arrival counts as late: less is the machine's own unrest."""

Pause = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Due:
    """Something to do ``at_s`` seconds after the start."""

    at_s: float
    name: str
    act: Callable[[], object]


@dataclass(slots=True)
class Pacing:
    """How well times were kept: things done, late ones, and seconds of the latest."""

    done: int = 0
    late: int = 0
    latest_s: float = 0.0


class Pacer:
    """Does what is due, by several threads.

    Parameters
    ----------
    clock
        Tells the time.
    allowed_s
        How late something may be before `too_late` is asked for the error to raise.
    too_late
        Returns that error for a name and the seconds that it is late.
    writers
        How many threads.
    pause
        Waits for some seconds; a test brings its own.
    """

    def __init__(
        self,
        clock: ReceiptClock,
        allowed_s: float,
        too_late: Callable[[str, float], StowageError],
        writers: int = WRITERS,
        pause: Pause | None = None,
    ) -> None:
        self._clock = clock
        self._allowed_s = allowed_s
        self._too_late = too_late
        self._writers = writers
        self._over = threading.Event()
        self._pause: Pause = pause or self._over.wait
        self._lock = threading.Lock()
        self._pacing = Pacing()
        self._error: BaseException | None = None

    def run(self, dues: Iterable[Due]) -> Pacing:
        """Do everything at its time; ``dues`` are in the order of their times.

        Raises
        ------
        StowageError
            The first error of something that was done, or one thing was too late.
        """
        waiting = iter(dues)
        start_ns = self._clock.now().monotonic_ns
        threads = [
            threading.Thread(target=self._write, args=(waiting, start_ns), name=f"pace-{number}")
            for number in range(self._writers)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        finally:
            # Also when the run is interrupted: no thread may go on creating pods.
            self._over.set()
        if self._error is not None:
            raise self._error
        return self._pacing

    def _write(self, waiting: Iterator[Due], start_ns: int) -> None:
        try:
            while (due := self._next(waiting)) is not None:
                self._await(start_ns + int(due.at_s * NS_PER_S))
                if self._over.is_set():
                    return
                self._note(due, start_ns)
                due.act()
        except BaseException as error:
            self._error = self._error or error
            self._over.set()

    def _next(self, waiting: Iterator[Due]) -> Due | None:
        with self._lock:
            return None if self._over.is_set() else next(waiting, None)

    def _await(self, due_ns: int) -> None:
        left_ns = due_ns - self._clock.now().monotonic_ns
        if left_ns > 0:
            self._pause(left_ns / NS_PER_S)

    def _note(self, due: Due, start_ns: int) -> None:
        now_ns = self._clock.now().monotonic_ns
        late_s = (now_ns - start_ns) / NS_PER_S - due.at_s
        with self._lock:
            self._pacing.done += 1
            self._pacing.late += late_s > LATE_S
            self._pacing.latest_s = max(self._pacing.latest_s, late_s)
        if late_s > self._allowed_s:
            raise self._too_late(due.name, late_s)
