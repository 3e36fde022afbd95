"""Executing what is left to do of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from stowage_testbed.reproduce.sweep.engine import Engine
from stowage_testbed.reproduce.sweep.journal import Journal
from stowage_testbed.reproduce.sweep.listener import SweepListener
from stowage_testbed.reproduce.sweep.task import RowT, Task


def execute(
    what: str,
    tasks: Sequence[Task[RowT]],
    journal: Journal[RowT],
    engine: Engine,
    listener: SweepListener,
) -> Mapping[str, str]:
    """Execute each task that the journal does not hold.

    Returns
    -------
    Why, of each task that failed. It is not in the journal, so that it is tried again
    next time.
    """
    missing = [task for task in tasks if task.id not in journal]
    failures: dict[str, str] = {}
    if not missing:
        return failures
    listener.begun(what, len(tasks), len(tasks) - len(missing), engine.workers)
    try:
        # What the engine started ends here, not when the exception is collected.
        with closing(engine.run(missing)) as outcomes:
            for outcome in outcomes:
                if outcome.failure:
                    failures[outcome.task_id] = outcome.failure
                else:
                    journal.add(outcome.task_id, outcome.rows)
                listener.over(outcome.task_id, outcome.failure)
    finally:
        listener.ended()
    return failures
