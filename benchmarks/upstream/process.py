"""A process of upstream's, with whatever it starts: none outlives the call."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stowage_testbed.toolchain import choose_minor, tool_path


def run_ending(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: Path,
    limit_s: float,
) -> int | None:
    """Run a command to its end; return its exit code."""
    with (
        output.open("wb") as said,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


MEMORY = Path("/dev/shm")  # noqa: S108 - folders of unforeseeable names are made in it
ROOM_BYTES = 2 * 2**30
"""What an etcd may write, by its own limit."""


def fast_folder() -> Path | None:
    """Return a folder in memory for what an etcd writes; None where there is no room.

    The wait for a disk that others use as well is what most differs between two runs.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
        return MEMORY
    return None


def with_etcd() -> Mapping[str, str]:
    """Return what has a test server find the toolchain's etcd."""
    etcd = tool_path("etcd", choose_minor())
    return {
        "PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}",
        "KUBE_CACHE_MUTATION_DETECTOR": "false",
    }
