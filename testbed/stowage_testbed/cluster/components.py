"""The processes of one cluster: started, found by a mark in their environment, ended, and their logs.

A process id is a poor identity: it is reused, and a killed parent may not have written it down yet. So every process of
a cluster, and whatever it starts in turn, inherits the cluster's folder in one environment variable, and is found by
it.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from stowage_testbed.base.child import log_end
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.kwokctl_config import arguments_of
from stowage_testbed.cluster.ports import listens, port_beside
from stowage_testbed.hostpods import HOST_LABEL

MARK = "STOWAGE_CLUSTER_FOLDER"

READY_TIMEOUT_S = 120.0
"""Twenty times what a start takes on two idle cores."""

_POLL_S = 0.03
_T = TypeVar("_T")


def marked_environment(workdir: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` with the mark of the cluster in ``workdir``."""
    return {**base, MARK: str(workdir)}


def processes_of(workdir: Path) -> list[psutil.Process]:
    """Return the cluster's live processes with all their descendants, not this one."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        if process.pid not in found and belongs_to(process, workdir):
            found[process.pid] = process
            # A release's container has an environment of its own, without the mark.
            with suppress(psutil.NoSuchProcess):
                found |= {child.pid: child for child in process.children(recursive=True)}
    found.pop(os.getpid(), None)
    return list(found.values())


def kill_processes(workdir: Path) -> None:
    """Kill every process of the cluster, also those started meanwhile."""
    killed: dict[int, psutil.Process] = {}

    def kill_all() -> list[int]:
        # A process that forks while it is killed leaves a child for the next look.
        found = {process.pid: process for process in processes_of(workdir)}
        killed.update(found)
        for process in killed.values():
            kill_one(process)
        alive = [pid for pid, process in killed.items() if is_alive(process)]
        return alive or list(found)

    try:
        wait_until(f"the processes of cluster {workdir.name} to end", kill_all, lambda pids: not pids, poll_s=_POLL_S)
    except WaitTimeoutError as error:
        pids = ", ".join(map(str, error.last_state))
        raise StowageError(
            f"processes {pids} of cluster {workdir.name!r} did not end; "
            "they may hang in the kernel: see what they wait for with ps"
        ) from error


def kill_one(process: psutil.Process) -> None:
    """Kill a process unless it has ended; psutil checks that the id is still its."""
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        process.kill()
        # Collects the end of a child of this process; others are not waited for.
        process.wait(0)


def resume(process: psutil.Process) -> None:
    """Let a stopped process go on; harmless if it runs, or has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        process.resume()


def belongs_to(process: psutil.Process, workdir: Path) -> bool:
    """Return whether a process belongs to the cluster in ``workdir``, by its mark."""
    try:
        return bool(process.environ().get(MARK) == str(workdir))
    except (psutil.Error, OSError):
        # Another user's process, or one that has just ended.
        return False


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs; one that only waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
KWOK = "kwok-controller"
HOST_PODS = "hostpods"
METRICS_SERVER = "metrics-server"
SCHEDULER = "kube-scheduler"
KWOKCTL = "kwokctl"

CONTROL_PLANE = (ETCD, API_SERVER, CONTROLLER_MANAGER, KWOK)
"""In the order of their dependence: the first that ended is the cause."""


def pid_file(workdir: Path, component: str) -> Path:
    """Return where a component's process id is written."""
    return workdir / "pids" / f"{component}.pid"


def log_file(workdir: Path, component: str) -> Path:
    """Return where a component's output goes."""
    return workdir / "logs" / f"{component}.log"


def write_private(file: Path, content: bytes) -> None:
    """Write a new file that nobody else can read, not even for a moment."""
    file.touch(mode=0o600, exist_ok=False)
    file.write_bytes(content)


def spawn_component(workdir: Path, component: str, command: Sequence[str], flags: Mapping[str, object]) -> None:
    """Start a component in a session of its own, with ``--name=value`` for each flag; its output goes to its log.

    Spawned, not opened as a child: it is found by its mark like every other process of the cluster in ``workdir``.
    """
    log = str(log_file(workdir, component))
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        (*command, *(f"--{name}={value}" for name, value in flags.items())),
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
    if pid is not None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            return process if is_alive(process) else None
    return None


def was_started(workdir: Path, component: str) -> bool:
    """Return whether a component was started, whatever has become of it."""
    return _written_pid(workdir, component) is not None


def has_ended(workdir: Path, component: str) -> bool:
    """Return whether a component was started and does not run any more."""
    return was_started(workdir, component) and component_process(workdir, component) is None


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
        f"({log.name}):\n{log_end(log, indent='  ')}"
    )


def await_state(
    workdir: Path,
    what: str,
    look: Callable[[], _T],
    holds: Callable[[_T], bool],
    *,
    of: str,
    needed: Sequence[str] | None = None,
    timeout_s: float,
    poll_s: float = _POLL_S,
) -> None:
    """Wait for a state that a component brings about, or for the end of one that is ``needed``: it, unless given."""

    def seen() -> _T:
        for component in (of,) if needed is None else needed:
            if has_ended(workdir, component):
                raise component_failed(workdir, component)
        return look()

    try:
        wait_until(what, seen, holds, timeout_s=timeout_s, poll_s=poll_s)
    except WaitTimeoutError as error:
        raise start_timeout(workdir, error, of, log_file(workdir, of)) from error


def start_timeout(workdir: Path, timeout: WaitTimeoutError[Any], component: str, log: Path) -> StowageError:
    """Return the error that a cluster was not ready in time, with the end of a component's log."""
    return StowageError(
        f"cluster {workdir.name!r} was not ready within {timeout.timeout_s:g} s: "
        f"{timeout}. The last lines of {component}:\n{log_end(log, indent='  ')}\n"
        "on a slow or busy machine run it again"
    )


HOST_NODE = "stowage-host"
HOST_TAINT = HOST_LABEL


@dataclass(frozen=True, slots=True)
class ReleaseLocation:
    """The one node of a cluster that is no fake one, where a Helm release runs; it has the taint `HOST_TAINT`."""

    node: str = HOST_NODE
    containers: bool = False
    """Whether pods run there as containers of their images; if not, as processes of this machine."""
    api_server_url: str = ""
    """The API server's address from there; empty where it is the kubeconfig's."""


def start_host_pods(workdir: Path, kubeconfig: Path, longest_backoff_s: float | None = None) -> None:
    """Start the daemon that plays kubelet, which registers its node by itself.

    A container that ended is started again after ``longest_backoff_s`` at most; after the daemon's own default without.
    """
    flags: dict[str, object] = {"node": HOST_NODE, "kubeconfig": kubeconfig, "workdir": workdir}
    if longest_backoff_s is not None:
        flags["backoff-maximum-s"] = longest_backoff_s
    spawn_component(workdir, HOST_PODS, [sys.executable, "-m", "stowage_testbed.hostpods"], flags)


def start_stock_scheduler(workdir: Path, kubeconfig: Path, program: Path, feature_gates: str = "") -> None:
    """Start kube-scheduler, in Stowage's build, and wait until it serves; all but its gates is at its default."""
    port = port_beside(workdir.name)
    arguments = {**arguments_of("stock scheduler", kubeconfig=kubeconfig, port=port)[SCHEDULER]}
    if feature_gates:
        arguments["feature-gates"] = feature_gates
    spawn_component(workdir, SCHEDULER, [str(program)], arguments)
    await_state(workdir, f"{SCHEDULER} to serve", lambda: listens(port), bool, of=SCHEDULER, timeout_s=READY_TIMEOUT_S)


def check_no_scheduler(workdir: Path) -> None:
    """Refuse a cluster with a stock scheduler, which would race for the same pods."""
    if was_started(workdir, SCHEDULER):
        raise StowageError(
            f"cluster {workdir.name} has the stock scheduler, and two schedulers must not serve one name; bring it up "
            f"with: stowage up {workdir.name} --scheduler none"
        )
