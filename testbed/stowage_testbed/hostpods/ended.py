"""The containers that ended without being asked to, for those that rely on them.

One line of JSON each, in the work directory: clients of the API server learn of an
end late, or not at all if the pod's folder has gone meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_FILE = "ended-containers.jsonl"


@dataclass(frozen=True, slots=True)
class EndedContainer:
    """One end of a container that had been ready; ``code`` is 128 + n for signal n."""

    pod: str
    container: str
    code: int
    log: str


class EndedContainers:
    """The record of one work directory."""

    def __init__(self, workdir: Path) -> None:
        self._file = workdir / _FILE
        self._read = 0

    def add(self, ended: EndedContainer) -> None:
        """Take note of one."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(ended)) + "\n")

    def forget(self) -> None:
        """Leave out of `new` what has ended so far."""
        self._read = self._file.stat().st_size if self._file.exists() else 0

    def new(self) -> list[EndedContainer]:
        """Return those that ended since the last call."""
        if not self._file.exists():
            return []
        with self._file.open("rb") as file:
            file.seek(self._read)
            text, whole, _ = file.read().rpartition(b"\n")
        self._read += len(text) + len(whole)
        return [EndedContainer(**json.loads(line)) for line in text.splitlines()]
