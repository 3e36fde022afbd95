"""Carrying one task out, whatever becomes of it."""

from __future__ import annotations

from stowage_testbed.errors import StowageError
from stowage_testbed.reproduce.sweep.task import Outcome, RowT, Task
from stowage_testbed.reproduce.sweep.tools import Tools


def attempt(task: Task[RowT], tools: Tools) -> Outcome[RowT]:
    """Return the task's rows, or why there are none.

    A process that failed one task is not trusted with the next.
    """
    try:
        return Outcome(task.id, task.execute(tools))
    except StowageError as error:
        tools.renew()
        return Outcome(task.id, failure=str(error))
