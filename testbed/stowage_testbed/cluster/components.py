"""The processes of one control plane: alive or not, and what they logged last."""

from __future__ import annotations

from pathlib import Path

import psutil

from stowage_testbed.cluster.processes import is_alive

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
KWOK = "kwok-controller"
HOST_PODS = "hostpods"
METRICS_SERVER = "metrics-server"

CONTROL_PLANE = (ETCD, API_SERVER, CONTROLLER_MANAGER, KWOK)
"""In the order of their dependence: the first that ended is the cause."""


def pid_file(workdir: Path, component: str) -> Path:
    """Return where a component's process id is written."""
    return workdir / "pids" / f"{component}.pid"


def log_file(workdir: Path, component: str) -> Path:
    """Return where a component's output goes."""
    return workdir / "logs" / f"{component}.log"


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
