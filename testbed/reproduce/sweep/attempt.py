"""Carrying one task out, whatever becomes of it."""

from __future__ import annotations

from testbed.errors import StowageError
from testbed.reproduce.sweep.task import Outcome, RowT, Task
from testbed.reproduce.sweep.tools import Tools


def attempt(task: Task[RowT], tools: Tools) -> Outcome[RowT]:
    """Return the task's rows, or why there are none.

    A process that failed one task is not trusted with the next.
    """
    try:
        return Outcome(task.id, task.carry_out(tools))
    except StowageError as error:
        tools.renew()
        return Outcome(task.id, failure=str(error))
