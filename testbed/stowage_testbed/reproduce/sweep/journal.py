"""The journal of a sweep: an outcome is on disk before the next one is taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic

import msgspec

from stowage_testbed import journal
from stowage_testbed.reproduce.sweep.task import RowT


class Journal(Generic[RowT]):
    """Rows by task; a task that is here is not carried out again.

    Parameters
    ----------
    path
        The file; read if it is there, else made with the first outcome.
    row_type
        A dataclass.

    Raises
    ------
    StowageError
        A line other than the last is no outcome.
    """

    def __init__(self, path: Path, row_type: type[RowT]) -> None:
        rows = tuple[row_type, ...]  # type: ignore[valid-type]
        self._form: Any = msgspec.defstruct("Outcome", [("task", str), ("rows", rows)])
        self._file = journal.Journal[Any](path, self._form)
        self._rows: dict[str, tuple[RowT, ...]] = {
            outcome.task: outcome.rows for outcome in self._file.records()
        }

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._rows

    def __getitem__(self, task_id: str) -> tuple[RowT, ...]:
        return self._rows[task_id]

    def get(self, task_id: str) -> tuple[RowT, ...]:
        """Return the rows of a task; none if it is not done."""
        return self._rows.get(task_id, ())

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, task_id: str, rows: tuple[RowT, ...]) -> None:
        """Write the outcome of a task down."""
        self._file.add(self._form(task_id, rows))
        self._rows[task_id] = rows
