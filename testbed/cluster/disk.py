"""Disks that fill up, seen before what writes to them breaks."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

from testbed.cluster.errors import DiskFullError
from testbed.cluster.kwokctl_config import ETCD_SOCKET

LEAST_FREE_BYTES = 128 << 20
"""Etcd allocates its log in pieces of 64 MB, and the audit log grows by as much in
seconds."""

_TIMEOUT_S = 1.0
_NO_SPACE = "NOSPACE"


def disk_fault(
    folders: Iterable[Path], least_free_bytes: int = LEAST_FREE_BYTES
) -> DiskFullError | None:
    """Return what is wrong with the disks of some folders, if anything is."""
    for folder in folders:
        # One that is gone, or not there yet, fills nothing.
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free
            if free < least_free_bytes:
                why = f"the disk of {folder} is full but for {free >> 20} MiB"
                return DiskFullError(why, folder)
    return None


def no_space(error: OSError) -> DiskFullError:
    """Return what to say of a write that failed for lack of room."""
    folder = Path(error.filename).parent if error.filename else Path()
    return DiskFullError(f"there is no room left to write to ({error})", folder)


def etcd_fault(workdir: Path) -> DiskFullError | None:
    """Return that etcd takes no more writes, if so; its log does not say it."""
    if not (workdir / ETCD_SOCKET).is_socket():
        return None
    connection = _EtcdConnection(workdir)
    try:
        connection.request("GET", "/health?serializable=true")
        said = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        # A process that has ended, or is slow, is found out by others.
        return None
    finally:
        connection.close()
    if _NO_SPACE not in str(said.get("reason", "")):
        return None
    return DiskFullError("etcd has reached its quota", workdir / "etcd")


class _EtcdConnection(http.client.HTTPConnection):
    """HTTP through etcd's socket."""

    def __init__(self, workdir: Path) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._workdir = workdir

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # The whole path may be longer than a socket's may.
        folder = os.open(self._workdir, os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{ETCD_SOCKET}")
        finally:
            os.close(folder)
