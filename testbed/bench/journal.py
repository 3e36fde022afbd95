"""The journal: each record is a line on disk before the next call begins."""

from __future__ import annotations

import json
from pathlib import Path

from testbed.bench.errors import JournalBrokenError
from testbed.bench.record import Record, read_record


class Journal:
    """Records by case and arm; what is there already is not measured again.

    Parameters
    ----------
    path
        The file; read if it is there, else made with the first record.

    Raises
    ------
    JournalBrokenError
        A line other than the last is no record. An unfinished last line is what an
        interrupted run leaves, and is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records: dict[tuple[str, str], Record] = {}
        if path.is_file():
            self._read(path)

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
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record.document()) + "\n")
        self._records[record.case, record.arm] = record

    def _read(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if text and not text.endswith("\n"):
            lines.pop()
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for number, line in enumerate(lines, start=1):
            try:
                record = read_record(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise JournalBrokenError(path, number, str(error)) from None
            self._records[record.case, record.arm] = record
