"""The processes of one control plane: started, alive or ended, and their logs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psutil

from stowage_testbed.base.child import log_tail, quoted_log
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.processes import is_alive, marked_environment

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
KWOK = "kwok-controller"
HOST_PODS = "hostpods"
METRICS_SERVER = "metrics-server"
SCHEDULER = "kube-scheduler"

CONTROL_PLANE = (ETCD, API_SERVER, CONTROLLER_MANAGER, KWOK)
"""In the order of their dependence: the first that ended is the cause."""


def pid_file(workdir: Path, component: str) -> Path:
    """Return where a component's process id is written."""
    return workdir / "pids" / f"{component}.pid"


def log_file(workdir: Path, component: str) -> Path:
    """Return where a component's output goes."""
    return workdir / "logs" / f"{component}.log"


def spawn_component(workdir: Path, component: str, command: Sequence[str]) -> None:
    """Start a component in a session of its own; its output goes to its log.

    Spawned, not opened as a child: it is found by its mark like every other process of the cluster in ``workdir``.
    """
    log = str(log_file(workdir, component))
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        tuple(command),
        marked_environment(workdir, os.environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, write, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    pid_file(workdir, component).write_text(str(pid), encoding="utf-8")


def component_process(workdir: Path, component: str) -> psutil.Process | None:
    """Return a component's process, or None if it has none or it has ended."""
    pid = _written_pid(workdir, component)
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None
    return process if is_alive(process) else None


def was_started(workdir: Path, component: str) -> bool:
    """Return whether a component was started, whatever has become of it."""
    return _written_pid(workdir, component) is not None


def has_ended(workdir: Path, component: str) -> bool:
    """Return whether a component was started and does not run any more."""
    started = was_started(workdir, component)
    return started and component_process(workdir, component) is None


def _written_pid(workdir: Path, component: str) -> int | None:
    # Between its creation and its writing the file is empty.
    try:
        return int(pid_file(workdir, component).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def component_failed(workdir: Path, component: str) -> StowageError:
    """Return the error that a component ended before the cluster was ready."""
    log = log_file(workdir, component)
    return StowageError(
        f"cluster {workdir.name!r} did not start: {component} ended. Its last lines "
        f"({log.name}):\n  {quoted_log(log_tail(log))}"
    )
