"""Time as a dependency, so that tests need not wait for it."""

import time
from dataclasses import dataclass
from typing import Protocol

from stowage_testbed.base import health


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
        """Block the calling thread for ``seconds``, or until what it needs is not well."""
        ends_s = time.monotonic() + seconds
        while (left_s := ends_s - time.monotonic()) > 0:
            time.sleep(min(left_s, health.LOOK_EVERY_S))  # noqa: TID251 - the one place
            health.check()
