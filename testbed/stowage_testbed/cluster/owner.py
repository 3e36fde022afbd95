"""Who a cluster belongs to, written into its folder before anything is started."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import psutil

from stowage_testbed.base.files import write_whole
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.ports import Ports

_FILE = "owner.json"
_SAME_START_S = 2.0
_ONLY_MINOR = "1.36"


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that started a cluster."""

    pid: int
    started_s: float
    """Seconds since the epoch: a process id alone may have been reused."""
    kept: bool
    """The cluster outlives its process: nobody owns it but the user."""
    claim_id: str
    ports: Ports
    backend: Backend = Backend.KWOK_BINARY
    engine: str = ""
    """The Docker engine of its containers, as ``DOCKER_HOST`` names it; empty for Docker's own choice."""
    node_address: str = ""
    """Of the one node that is no fake one, where it is a container."""
    minor: str = _ONLY_MINOR
    """Clusters that do not say it are from when there was one."""

    @classmethod
    def this_process(
        cls, ports: Ports, claim_id: str, backend: Backend = Backend.KWOK_BINARY, minor: str | None = None
    ) -> Owner:
        """Return the record of the running process."""
        engine, minor = os.environ.get("DOCKER_HOST", ""), minor or _ONLY_MINOR
        began_s = psutil.Process().create_time()
        return cls(os.getpid(), began_s, False, claim_id, ports, backend, engine, minor=minor)

    def is_alive(self) -> bool:
        """Return whether the very process that started the cluster still runs."""
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return abs(process.create_time() - self.started_s) < _SAME_START_S
        except psutil.NoSuchProcess:
            return False

    def as_kept(self) -> Owner:
        """Return the record of a cluster that outlives its process."""
        return replace(self, kept=True)


def write_owner(workdir: Path, owner: Owner) -> None:
    """Write the record in one step, so that a reader sees the old or the new one."""
    write_whole(workdir / _FILE, msgspec.json.encode(owner))


def read_owner(workdir: Path) -> Owner | None:
    """Return the record, or None where there is none that can be read."""
    try:
        return msgspec.json.decode((workdir / _FILE).read_bytes(), type=Owner)
    except (OSError, msgspec.MsgspecError):
        return None
