"""What executes a sweep's tasks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from stowage_testbed.reproduce.sweep.attempt import attempt
from stowage_testbed.reproduce.sweep.task import Outcome, RowT, Task
from stowage_testbed.reproduce.sweep.tools import Tools


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
