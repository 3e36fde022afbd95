"""Time inside the event loop, as a dependency."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class LoopClock(Protocol):
    """Monotonic seconds, wall-clock time, and a pause that lets others run."""

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        ...

    def wall(self) -> datetime:
        """Return the time of day in UTC."""
        ...

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``; other tasks run meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class SystemLoopClock:
    """The machine's own time."""

    def now(self) -> float:
        """Return the machine's monotonic time in seconds."""
        return time.monotonic()

    def wall(self) -> datetime:
        """Return the machine's time of day in UTC."""
        return datetime.now(UTC)

    async def pause(self, seconds: float) -> None:
        """Let other tasks run for ``seconds``."""
        await asyncio.sleep(seconds)


def timestamp(moment: datetime) -> str:
    """Return the moment as Kubernetes writes it: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """Return the moment as Kubernetes' MicroTime: microseconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
