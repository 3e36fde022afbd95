"""An arm's programs as one running arm, and what ends when one of them does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from stowage_testbed.base import health
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.compare.arms.account import KUBECONFIG, Rights, account
from stowage_testbed.compare.arms.program import ArmProcess, Program
from stowage_testbed.run.arm import RunningArm


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
    rights: Rights,
    *,
    programs: Sequence[Program],
    configuration: str,
    config_maps: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Iterator[ServingArm]:
    """Start programs one after the other, and end them in the opposite order.

    Their account at the API server is there for as long as they are.
    """
    processes = {program.name: ArmProcess(arm, program, folder) for program in programs}
    with account(cluster, arm.replace("@", "-"), rights, folder / KUBECONFIG, config_maps):
        try:
            for process in processes.values():
                process.start(cluster.workdir)
            yield ServingArm(processes, configuration)
        finally:
            with uninterrupted():
                for process in reversed(processes.values()):
                    process.end()


@contextmanager
def ended_with(running: RunningArm) -> Iterator[None]:
    """End the waits of the block once a process of the arm has ended; raises `ArmEndedError` then.

    Waiting for pods that no scheduler places any more would take a long time.
    """
    running.check()
    with health.needing(running.check):
        yield
