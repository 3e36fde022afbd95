"""The containers that ended without being asked to, for those that rely on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.journal import Journal


@dataclass(frozen=True, slots=True)
class EndedContainer:
    """One end of a container that had been ready; ``code`` is 128 + n for signal n."""

    pod: str
    container: str
    code: int
    log: str


class EndedContainers:
    """The containers of a work directory that ended unasked, of which the API server's clients learn late or never."""

    def __init__(self, workdir: Path) -> None:
        self._journal = Journal(workdir / "ended-containers.jsonl", EndedContainer)
        self._read = 0

    def add(self, ended: EndedContainer) -> None:
        """Take note of one."""
        self._journal.add(ended)

    def new(self) -> list[EndedContainer]:
        """Return those that ended since the last call."""
        found = self._journal.records()[self._read :]
        self._read += len(found)
        return found
