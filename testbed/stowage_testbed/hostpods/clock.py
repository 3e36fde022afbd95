"""Time inside the event loop, as a dependency."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class LoopClock:
    """The machine's time; tests bring another one."""

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        return time.monotonic()

    def wall(self) -> datetime:
        """Return the time of day in UTC."""
        return datetime.now(UTC)

    async def pause(self, seconds: float) -> None:
        """Return after ``seconds``; other tasks run meanwhile."""
        await asyncio.sleep(seconds)


def timestamp(moment: datetime) -> str:
    """Return the moment as Kubernetes writes it: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """Return the moment as Kubernetes' MicroTime: microseconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
