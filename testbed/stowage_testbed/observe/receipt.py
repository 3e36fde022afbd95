"""The clock of this process: the moment at which a change is received.

Object timestamps have whole seconds (trap T9), so every change is stamped when its bytes reach this process. Wall time
is derived from the monotonic clock and one anchor: a correction of the machine's wall clock cannot bend an interval.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

NS_PER_S = 1_000_000_000

CLOCK_NAME = "watch receipt"  # Name printed beside every percentile that this clock gave
RESOLUTION_S = 0.001  # Best resolution claimed for a receipt: threads of one process take turns


@dataclass(frozen=True, slots=True, order=True)
class Receipt:
    """A moment on the process's clock, in nanoseconds."""

    monotonic_ns: int
    wall_ns: int

    def seconds_since(self, earlier: Receipt) -> float:
        """Return the interval from ``earlier`` to this moment in seconds."""
        return (self.monotonic_ns - earlier.monotonic_ns) / NS_PER_S

    def wall_text(self) -> str:
        """Return the wall time as RFC 3339 with microseconds."""
        moment = datetime.fromtimestamp(self.wall_ns / NS_PER_S, tz=UTC)
        return moment.isoformat(timespec="microseconds")


class ReceiptClock:
    """Stamps receipts: monotonic time, and wall time hung on it once."""

    def __init__(
        self, monotonic_ns: Callable[[], int] = time.monotonic_ns, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._offset_ns = wall_ns() - monotonic_ns()

    def now(self) -> Receipt:
        """Return this moment."""
        monotonic = self._monotonic_ns()
        return Receipt(monotonic, monotonic + self._offset_ns)
