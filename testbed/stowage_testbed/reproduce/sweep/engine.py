"""What executes the tasks of a sweep that are left to do."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Protocol

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.reproduce.sweep.task import Outcome, RowT, Task, Tools, attempt


class SweepListener:
    """Receives the progress and ignores it; override what is of interest."""

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        """Take note that ``total`` tasks are to do, of which ``done`` are done."""

    def over(self, task_id: str, failure: str) -> None:
        """Take note that a task is over."""

    def ended(self) -> None:
        """Take note that nothing is left to do."""


class Engine(Protocol):
    """One process, or many workers."""

    @property
    def workers(self) -> int:
        """Return how many tasks are carried out side by side."""
        ...

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        """Yield each task's outcome as soon as it is there, in any order."""
        ...


class InProcess:
    """One task after the other, in this process, in their order."""

    workers = 1

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        """Yield the outcomes in the order of the tasks."""
        with Tools() as tools:
            for task in tasks:
                yield attempt(task, tools)


@contextmanager
def engine_for(workers: int, dask_address: str | None) -> Iterator[Engine]:
    """Yield the engine: a Dask cluster if there is to be more than one worker.

    Raises
    ------
    StowageError
        Dask is needed, and not installed; else as `existing_workers` says.
    """
    if dask_address is None and workers == 1:
        yield InProcess()
        return
    if find_spec("distributed") is None:
        raise StowageError("more than one worker needs Dask; install it with: pip install 'stowage[sweep]'")
    from stowage_testbed.reproduce.sweep import on_dask  # noqa: PLC0415 - optional

    if dask_address is not None:
        with on_dask.existing_workers(dask_address) as engine:
            yield engine
    else:
        with on_dask.local_workers(workers) as engine:
            yield engine


def execute(
    what: str, tasks: Sequence[Task[RowT]], journal: TaskJournal[RowT], engine: Engine, listener: SweepListener
) -> Mapping[str, str]:
    """Execute each task that the journal does not hold; return why some failed.

    Those are not in the journal, so that they are tried again next time.
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
