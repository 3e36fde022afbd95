"""What has been measured, by case and arm."""

from __future__ import annotations

from pathlib import Path

from benchmarks.optimizer.record import Record
from stowage_testbed import journal


class Journal:
    """Records by case and arm; what is there already is not measured again.

    Parameters
    ----------
    path
        The file; read if it is there, else made with the first record.

    Raises
    ------
    StowageError
        A line other than the last is no record.
    """

    def __init__(self, path: Path) -> None:
        self._file = journal.Journal(path, Record)
        self._records = {(one.case, one.arm): one for one in self._file.records()}

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._records

    def __getitem__(self, key: tuple[str, str]) -> Record:
        return self._records[key]

    def get(self, case: str, arm: str) -> Record | None:
        """Return the record of ``case`` by ``arm``, None if there is none yet."""
        return self._records.get((case, arm))

    def records(self) -> tuple[Record, ...]:
        """Return every record in the order of measurement."""
        return tuple(self._records.values())

    def add(self, record: Record) -> None:
        """Write ``record`` down."""
        self._file.add(record)
        self._records[record.case, record.arm] = record
