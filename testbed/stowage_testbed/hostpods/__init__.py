"""Runs the pods of one real node as local processes, as a kubelet would.

A fake node starts nothing, so the release under test gets a node of its own that KWOK does not manage. This package
keeps that node Ready and plays its kubelet: volumes, tokens, environment, probes, restarts and status are real;
isolation is missing. What is not played is refused (`pod.unsupported_fields`). Begin with `kubelet.HostKubelet`.
"""

from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.journal import Journal

HOST_LABEL = "stowage.dev/host"
"""Label and taint of the node, which keep any workload off it."""


@dataclass(frozen=True, slots=True)
class EndedContainer:
    """One end of a container that had been ready and was not asked to end; ``code`` is 128 + n for signal n."""

    pod: str
    container: str
    code: int
    log: str


class EndedContainers:
    """The containers of a work directory that ended unasked, of which the API server's clients learn late or never."""

    def __init__(self, workdir: Path) -> None:
        self._journal = Journal(workdir / "ended-containers.jsonl", EndedContainer)
        self._read = 0
        self.add = self._journal.add

    def new(self) -> list[EndedContainer]:
        """Return those that ended since the last call."""
        found = self._journal.records()[self._read :]
        self._read += len(found)
        return found
