"""A process of upstream's that starts an etcd: neither outlives the call."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from stowage_testbed.toolchain import choose_minor, tool_path


def run_beside_etcd(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str],
    output: Path,
    limit_s: float,
) -> int | None:
    """Run a command with the toolchain's etcd on the PATH; return its exit code.

    Parameters
    ----------
    command, folder
        What is run, and where.
    environment
        What is set besides this process's own.
    output
        The file of all that it says.
    limit_s
        Time after which it is ended; the exit code is None then.

    Raises
    ------
    StowageError
        The etcd is not installed.
    """
    etcd = tool_path("etcd", choose_minor())
    inherited = {
        **os.environ,
        "PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}",
        "KUBE_CACHE_MUTATION_DETECTOR": "false",
    }
    with (
        output.open("wb") as said,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**inherited, **environment},
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
