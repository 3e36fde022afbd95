"""Time as a dependency, so that tests need not wait for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in seconds, and a way to let time pass."""

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        ...

    def pause(self, seconds: float) -> None:
        """Return after ``seconds``."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's own monotonic clock."""

    def now(self) -> float:
        """Return the machine's monotonic time in seconds."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Block the calling thread for ``seconds``."""
        time.sleep(seconds)  # noqa: TID251 - the one place
