"""Records in a file, a line each: one is on disk before the next is made.

Whoever measures for hours goes on from here after a kill. Several processes may write to one journal.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from stowage_testbed.base.errors import StowageError

RecordT = TypeVar("RecordT")


class Journal(Generic[RecordT]):
    """Records of one type, a dataclass, in the order in which they were added; the file is made with the first one."""

    def __init__(self, path: Path, form: type[RecordT]) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(form)

    def add(self, record: RecordT) -> None:
        """Write a record down; it is on disk on return."""
        line = msgspec.json.encode(record) + b"\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b", buffering=0) as file:
            # Until the file is closed.
            fcntl.flock(file, fcntl.LOCK_EX)
            end = file.seek(0, os.SEEK_END)
            if end and os.pread(file.fileno(), 1, end - 1) != b"\n":
                # A last line without an end, to which this one would be glued.
                file.truncate(self._path.read_bytes().rfind(b"\n") + 1)
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())

    def records(self) -> list[RecordT]:
        """Return every record, but for a last line without an end, left by a killed process; or a StowageError."""
        if not self._path.is_file():
            return []
        whole, _, _ = self._path.read_bytes().rpartition(b"\n")
        records = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                records.append(self._decoder.decode(line))
            except msgspec.MsgspecError as error:
                raise StowageError(
                    f"{self._path}:{number}: is no record ({error}); remove the line, and what it was of is done again"
                ) from None
        return records


class TaskJournal(Generic[RecordT]):
    """Rows by task, of a dataclass; a task that is here is not carried out again."""

    def __init__(self, path: Path, row_type: type[RecordT]) -> None:
        rows = tuple[row_type, ...]  # type: ignore[valid-type] # known at run time
        self._form: Any = msgspec.defstruct("Outcome", [("task", str), ("rows", rows)])
        self._file = Journal[Any](path, self._form)
        self._rows: dict[str, tuple[RecordT, ...]] = {outcome.task: outcome.rows for outcome in self._file.records()}

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def get(self, task_id: str) -> tuple[RecordT, ...]:
        """Return the rows of a task; none if it is not done."""
        return self._rows.get(task_id, ())

    def add(self, task_id: str, rows: tuple[RecordT, ...]) -> None:
        """Write the outcome of a task down."""
        self._file.add(self._form(task_id, rows))
        self._rows[task_id] = rows
