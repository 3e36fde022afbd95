"""Time inside the event loop: the clock, back-off, and why a pod has to wait."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from stowage_testbed.base.errors import StowageError


class HostPodsError(StowageError):
    """Something without which a pod cannot go on; a waiting container's status shows ``reason``."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


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


def timestamp(moment: datetime, timespec: str = "seconds") -> str:
    """Return the moment as Kubernetes writes it, in UTC: whole seconds, or ``microseconds`` for a MicroTime."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel a task and return when it has ended, also if the caller is cancelled; an error of the task is raised."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


@dataclass(frozen=True, slots=True)
class BackoffLimits:
    """The waiting times in seconds: of a kubelet's shape (10 s, doubling to 300 s), and shorter."""

    initial_s: float = 1.0
    maximum_s: float = 30.0
    reset_after_s: float = 60.0


@dataclass(slots=True)
class Backoff:
    """Doubles from one failure to the next, and forgets after a long good run."""

    limits: BackoffLimits
    _next_s: float = 0.0

    def after_run(self, ran_s: float) -> float:
        """Return the seconds to wait after a run of ``ran_s``, which is 0 for a failed start: at first none."""
        delay_s = 0.0 if ran_s >= self.limits.reset_after_s else self._next_s
        self._next_s = min(delay_s * 2 or self.limits.initial_s, self.limits.maximum_s)
        return delay_s
