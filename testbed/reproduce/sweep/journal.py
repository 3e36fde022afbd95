"""The journal of a sweep: an outcome is on disk before the next one is taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Generic

import msgspec

from testbed.reproduce.sweep.errors import JournalLineError
from testbed.reproduce.sweep.task import RowT


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
    JournalLineError
        A line other than the last is no outcome. An unfinished last line is what a
        run leaves that was killed, and is dropped.
    """

    def __init__(self, path: Path, row_type: type[RowT]) -> None:
        self._path = path
        self._row_type = row_type
        self._rows: dict[str, tuple[RowT, ...]] = {}
        if path.is_file():
            self._read()

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
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = msgspec.json.encode({"task": task_id, "rows": rows})
        with self._path.open("ab") as file:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows[task_id] = rows

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole, _, unfinished = content.rpartition(b"\n")
        if unfinished:
            self._path.write_bytes(whole + b"\n" if whole else b"")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = msgspec.json.decode(line)
                rows = msgspec.convert(entry["rows"], tuple[self._row_type, ...])  # type: ignore[name-defined]
                self._rows[str(entry["task"])] = rows
            except (msgspec.MsgspecError, KeyError, TypeError) as error:
                raise JournalLineError(self._path, number, str(error)) from None
