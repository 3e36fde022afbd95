"""An arm's programs as one running arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.compare.arms.program import ArmProcess, Program


@dataclass(frozen=True, slots=True)
class ServingArm:
    """A scheduler that serves, with what runs beside it."""

    processes: Mapping[str, ArmProcess]
    configuration: str

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, whose memory and CPU time count as its own."""
        return tuple(process.pid for process in self.processes.values())

    @property
    def log_files(self) -> Mapping[str, Path]:
        """Its logs by the name of the program that writes them."""
        return {name: process.log for name, process in self.processes.items()}

    def check(self) -> None:
        """Raise `ArmEndedError` if one of its programs does not run any more."""
        for process in self.processes.values():
            process.check()


def own_folder(folder: Path) -> Path:
    """Make sure of an arm's folder, and return its full path: programs run in it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextmanager
def serving(
    arm: str,
    cluster: Cluster,
    folder: Path,
    programs: Sequence[Program],
    configuration: str,
) -> Iterator[ServingArm]:
    """Start programs one after the other, and end them in the opposite order.

    Raises
    ------
    ArmStartError
        One did not come up; those before it have been ended.
    """
    processes = {program.name: ArmProcess(arm, program, folder) for program in programs}
    try:
        for process in processes.values():
            process.start(cluster.workdir)
        yield ServingArm(processes, configuration)
    finally:
        with uninterrupted():
            for process in reversed(processes.values()):
                process.end()
