"""The containers that ended without being asked to, for those that rely on them.

One line of JSON each, in the work directory: clients of the API server learn of an
end late, or not at all if the pod's folder has gone meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.journal import Journal

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
        self._journal = Journal(workdir / _FILE, EndedContainer)
        self._read = 0

    def add(self, ended: EndedContainer) -> None:
        """Take note of one."""
        self._journal.add(ended)

    def new(self) -> list[EndedContainer]:
        """Return those that ended since the last call."""
        found = self._journal.records()[self._read :]
        self._read += len(found)
        return found
