"""One dockerd with a folder of its own, which dies with whoever started it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.engine import oci_runtime
from stowage_testbed.base.child import log_tail
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.images.docker_engine import docker, engine_unavailable_reason

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
CGROUP = "/stowage-docker"
"""Control group of all containers, distinct from that of another engine."""

FOLDER = "docker"
"""In the cache folder."""

_CGROUPS = Path("/sys/fs/cgroup")
_RUNTIME = "runc-without-sys-resource"
_LOOPBACK = "127.0.0.1"
SYS_RESOURCE = 24
"""Number of CAP_SYS_RESOURCE in linux/capability.h."""


@dataclass(frozen=True, slots=True)
class Dockerd:
    """A dockerd that keeps its things in one folder: images, socket, log.

    Images stay; everything else is gone when the engine ends.
    """

    folder: Path

    @property
    def host(self) -> str:
        """What ``DOCKER_HOST`` must be."""
        return f"unix://{self.folder / 'docker.sock'}"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / "dockerd.log"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run it for the block; ``DOCKER_HOST`` names it already.

        Raises
        ------
        StowageError
            It does not come up; carries its last log lines.
        """
        shutil.rmtree(self.folder / "exec", ignore_errors=True)
        with (
            self.log.open("wb") as log,
            subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            ) as process,
        ):
            try:
                self._await(process)
                _remove_everything()
                # Those whose containers were on it; one that is away keeps them.
                purge_clusters()
                yield
                _remove_everything()
                purge_clusters()
            finally:
                self._stop(process)
                _remove_control_groups()

    def _command(self) -> list[str]:
        # Two ways to be sure that nothing outlives this process: the kernel kills the
        # first child, and with it the process namespace of all containers.
        tied = ["setpriv", "--pdeathsig", "KILL"]
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL"]
        return [*tied, *apart, "--mount-proc", "dockerd", *self._options()]

    def _options(self) -> list[str]:
        options = {
            "host": self.host,
            "data-root": str(self.folder / "data"),
            "exec-root": str(self.folder / "exec"),
            "pidfile": str(self.folder / "exec" / "dockerd.pid"),
            "ip": _LOOPBACK,  # of published ports
            "cgroup-parent": CGROUP,
            "log-level": "warn",
        }
        if is_withheld(SYS_RESOURCE):
            options |= {
                "add-runtime": f"{_RUNTIME}={self._runtime()}",
                "default-runtime": _RUNTIME,
            }
        return [f"--{name}={value}" for name, value in options.items()]

    def _runtime(self) -> Path:
        """Write the program that Docker starts instead of runc, and return it."""
        file = self.folder / _RUNTIME
        program = f'"{sys.executable}" -IS "{oci_runtime.__file__}"'
        file.write_text(
            f'#!/bin/sh\nexec {program} "{shutil.which("runc")}" "$@"\n', "utf-8"
        )
        file.chmod(0o700)
        return file

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        try:
            wait_until(
                "dockerd",
                lambda: (
                    "" if process.poll() is not None else engine_unavailable_reason()
                ),
                lambda reason: not reason,
                timeout_s=START_TIMEOUT_S,
            )
        except WaitTimeoutError as error:
            raise self._failed(str(error.last_state)) from error
        if process.poll() is not None:
            raise self._failed(f"it ended with {process.returncode}")

    def _failed(self, why: str) -> StowageError:
        lines = "\n".join(f"  {line}" for line in log_tail(self.log))
        return StowageError(
            f"the Docker engine did not start: {why}; last lines of {self.log}:\n"
            f"{lines}"
        )

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        # A signal to unshare would not reach dockerd, which is its child.
        if process.poll() is None:
            for child in psutil.Process(process.pid).children():
                child.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()


def is_withheld(capability: int, status: Path = Path("/proc/self/status")) -> bool:
    """Return whether the kernel keeps a capability even from root here."""
    for line in status.read_text("ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name == "CapBnd":
            return not int(value.strip(), 16) >> capability & 1
    return False


def _remove_everything() -> None:
    """Remove all containers, networks and volumes: the engine is nobody else's."""
    if containers := docker("ps", "--all", "--quiet").split():
        docker("rm", "--force", "--volumes", *containers)
    docker("network", "prune", "--force")
    docker("volume", "prune", "--force")


def _remove_control_groups() -> None:
    """Remove the empty folders that runc leaves, in either version of the hierarchy."""
    for pattern in (CGROUP[1:], f"*{CGROUP}"):
        for top in _CGROUPS.glob(pattern):
            for folder in sorted(top.rglob("*/"), reverse=True):
                _remove_if_empty(folder)
            _remove_if_empty(top)


def _remove_if_empty(folder: Path) -> None:
    # Busy ones belong to processes on their way out; the next start finds them empty.
    with suppress(OSError):
        folder.rmdir()
