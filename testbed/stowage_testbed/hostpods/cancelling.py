"""Ending a task of one's own, without losing the word that oneself should end."""

from __future__ import annotations

import asyncio
from typing import Any


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel a task and return when it has ended; an error of the task is raised.

    Suppressing ``CancelledError`` around ``await task`` would also swallow the
    cancellation of the caller, which then never ends.
    """
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
