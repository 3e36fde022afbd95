"""Disks that fill up, seen before what writes to them breaks."""

from __future__ import annotations

import contextlib
import http.client
import shutil
from collections.abc import Iterable
from pathlib import Path

from stowage_testbed.cluster.errors import DiskFullError
from stowage_testbed.cluster.etcd import NO_SPACE, etcd_health
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET

LEAST_FREE_BYTES = 128 << 20
"""Etcd allocates its log in pieces of 64 MB, and the audit log grows by as much in
seconds."""


def disk_full_error(
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


def etcd_full_error(workdir: Path) -> DiskFullError | None:
    """Return that etcd takes no more writes, if so; its log does not say it."""
    if not (workdir / ETCD_SOCKET).is_socket():
        return None
    try:
        said = etcd_health(workdir)
    except (OSError, ValueError, http.client.HTTPException):
        # A process that has ended, or is slow, is found out by others.
        return None
    if NO_SPACE not in str(said.get("reason", "")):
        return None
    return DiskFullError("etcd has reached its quota", workdir / "etcd")
