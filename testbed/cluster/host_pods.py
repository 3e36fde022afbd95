"""The daemon that runs a release's pods, started beside the control plane."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from testbed.cluster.components import HOST_PODS, log_file, pid_file
from testbed.cluster.processes import marked_environment

HOST_NODE = "stowage-host"
_MODULE = "testbed.hostpods"


def start_host_pods(
    workdir: Path, kubeconfig: Path, longest_backoff_s: float | None = None
) -> None:
    """Start the daemon in a session of its own; it is not waited for.

    Spawned, not opened as a child: the daemon may outlive this process, and is found
    by its mark like every other process of the cluster.

    Parameters
    ----------
    workdir, kubeconfig
        Of the cluster.
    longest_backoff_s
        Longest wait before a container that ended is started again; the daemon's own
        default without.
    """
    if importlib.util.find_spec(f"{_MODULE}.__main__") is None:
        return
    log = str(log_file(workdir, HOST_PODS))
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    command = [sys.executable, "-m", _MODULE, "--kubeconfig", str(kubeconfig)]
    command += ["--workdir", str(workdir), "--node", HOST_NODE]
    if longest_backoff_s is not None:
        command += ["--backoff-maximum-s", str(longest_backoff_s)]
    pid = os.posix_spawn(
        sys.executable,
        command,
        marked_environment(workdir, os.environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, write, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    pid_file(workdir, HOST_PODS).write_text(str(pid), encoding="utf-8")
