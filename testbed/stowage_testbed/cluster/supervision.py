"""What of a cluster a block needs: its processes, the containers that serve, and room on disks."""

import errno
import http.client
import os
import shutil
import signal
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from stowage_testbed.base import health
from stowage_testbed.base.child import TAIL_LINES, log_end
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    CONTROL_PLANE,
    ETCD,
    HOST_PODS,
    METRICS_SERVER,
    SCHEDULER,
    belongs_to,
    component_process,
    is_alive,
    kill_processes,
    log_file,
    was_started,
)
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.listing import read_owner
from stowage_testbed.cluster.probes import NO_SPACE, ask_etcd
from stowage_testbed.hostpods import EndedContainers

WATCHED = (*CONTROL_PLANE, SCHEDULER, METRICS_SERVER, HOST_PODS)
"""In the order of their dependence: of several that ended the first is the cause."""
LEAST_FREE_BYTES = 128 << 20
"""On a disk: etcd allocates its log in pieces of 64 MB, and the audit log grows by as much in seconds."""
_SIGNAL_BASE = 128
_ETCD_TIMEOUT_S = 1.0


class ClusterHealth:
    """Whether a cluster is well, as far as the block of `supervised` needs it."""

    def __init__(self, cluster: Cluster, folders: Iterable[Path], least_free_bytes: int) -> None:
        self._workdir = cluster.workdir
        self._folders = (cluster.workdir, *folders)
        self._least_free_bytes = least_free_bytes
        self._containers = EndedContainers(self._workdir)
        self._processes: dict[str, psutil.Process | None] = {}
        self._error: RunEndedError | None = None
        self._is_ending = False
        self._lock = threading.RLock()
        self.expected: set[str] = set()
        self.needs_pods = 0
        self.expects_containers = False
        self.open()

    def open(self) -> None:
        """Watch every component as it runs now; none where its number is another process's by now."""
        with self._lock:
            self._processes.clear()
            for component in WATCHED:
                if was_started(self._workdir, component):
                    process = component_process(self._workdir, component)
                    own = process and belongs_to(process, self._workdir)
                    self._processes[component] = process if own else None
            self.expected.clear()

    def pass_over_ended(self) -> None:
        """Take no more note of the containers that have ended so far."""
        self._containers.new()

    def look(self) -> None:
        """Raise `RunEndedError` if something needed is not well; a cluster of this process's own is killed then."""
        with self._lock:
            if self._is_ending:
                return  # this is the wait for its processes to end
            if self._error is None:
                self._error = self._ended_process() or self._ended_container() or self._full_disk() or self._full_etcd()
                owner = read_owner(self._workdir) if self._error else None
                if owner and not owner.kept and owner.pid == os.getpid():
                    self._is_ending = True
                    with suppress(StowageError):
                        kill_processes(self._workdir)
                    self._is_ending = False
            if self._error is not None:
                raise self._error

    def _ended_process(self) -> RunEndedError | None:
        for component, process in self._processes.items():
            if component not in self.expected and not (process and is_alive(process)):
                return _ended(component, _how(process) if process else "", log_file(self._workdir, component))
        return None

    def _ended_container(self) -> RunEndedError | None:
        if not self.needs_pods or self.expects_containers:
            return None
        for one in self._containers.new():
            return _ended(f"container {one.container} of pod {one.pod}", _in_words(one.code), Path(one.log))
        return None

    def _full_disk(self) -> RunEndedError | None:
        for folder in self._folders:
            # One that is gone, or not there yet, fills nothing.
            with suppress(OSError):
                free = shutil.disk_usage(folder).free
                if free < self._least_free_bytes:
                    return _no_room(f"the disk of {folder} is full but for {free >> 20} MiB", folder)
        return None

    def _full_etcd(self) -> RunEndedError | None:
        """Return that etcd takes no more writes, unless a fault has made it so; its log does not say it."""
        if ETCD in self.expected or not (self._workdir / ETCD_SOCKET).is_socket():
            return None
        # A process that has ended, or is slow, is found out otherwise.
        with suppress(OSError, ValueError, http.client.HTTPException):
            health_of_etcd = ask_etcd(self._workdir, "GET", "/health?serializable=true", None, _ETCD_TIMEOUT_S)
            if NO_SPACE in str(health_of_etcd.get("reason", "")):
                return _no_room("etcd has reached its quota", self._workdir / "etcd")
        return None


_healths: dict[Path, ClusterHealth] = {}


@contextmanager
def supervised(
    cluster: Cluster, folders: Iterable[Path] = (), least_free_bytes: int = LEAST_FREE_BYTES
) -> Iterator[None]:
    """Need a cluster in the block, whose waits end within a moment once it cannot go on.

    That is so when a process of the cluster has ended, when a thread of this process that was started for it fails, and
    when a disk is full: the cluster's, or that of one of the ``folders`` which the block writes to. Of a control plane
    in containers only the processes of this machine are watched.
    """
    state = ClusterHealth(cluster, folders, least_free_bytes)
    _healths[cluster.workdir] = state
    try:
        with health.needing(state.look), _threads_reported():
            yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        folder = Path(error.filename).parent if error.filename else Path()
        raise _no_room(f"there is no room left to write to ({error})", folder) from error
    finally:
        del _healths[cluster.workdir]


def unwell(cluster: Cluster) -> RunEndedError | None:
    """Return why a cluster that a block needs is not well, in any thread; None if it is."""
    try:
        if state := _healths.get(cluster.workdir):
            state.look()
    except RunEndedError as error:
        return error
    return None


def expect_ends(cluster: Cluster, *components: str) -> None:
    """Take the end of these components for none, until `watch_again`."""
    if state := _healths.get(cluster.workdir):
        state.expected |= set(components)


def watch_again(workdir: Path) -> None:
    """Watch every component of the cluster in ``workdir`` as it runs now."""
    if state := _healths.get(workdir):
        state.open()


@contextmanager
def needing_host_pods(cluster: Cluster) -> Iterator[None]:
    """Need the containers that serve on this machine as much as the control plane.

    Their restart would go unnoticed, and what is measured would be worth nothing. One that has never been ready is the
    matter of whoever waits for that.
    """
    if state := _healths.get(cluster.workdir):
        state.pass_over_ended()  # what ended before was not needed
        state.needs_pods += 1
    try:
        yield
    finally:
        if state:
            state.needs_pods -= 1


@contextmanager
def expecting_container_ends(cluster: Cluster) -> Iterator[None]:
    """Take the end of a container that is needed for none, in the block."""
    if state := _healths.get(cluster.workdir):
        state.expects_containers = True
    try:
        yield
    finally:
        if state:
            state.pass_over_ended()
            state.expects_containers = False


@contextmanager
def _threads_reported() -> Iterator[None]:
    """Report a thread that ends by an exception; without a word it would be missed."""
    former = threading.excepthook

    def report(ended: threading.ExceptHookArgs) -> None:
        former(ended)
        name = ended.thread.name if ended.thread else "a thread"
        lines = "".join(traceback.format_exception(ended.exc_value)).splitlines()[-TAIL_LINES:]
        said = "".join(f"\n  {line}" for line in lines)
        health.report(RunEndedError(f"thread {name} has ended ({ended.exc_value!r}), and the run with it.{said}"))

    threading.excepthook = report
    try:
        yield
    finally:
        threading.excepthook = former


def _ended(name: str, how: str, log: Path) -> RunEndedError:
    return RunEndedError(
        f"{name} has ended{f' ({how})' if how else ''}, and the run with it. "
        f"Its last lines ({log.name}):\n{log_end(log, indent='  ')}"
    )


def _no_room(why: str, folder: Path) -> RunEndedError:
    return RunEndedError(
        f"{why}, and the run ends before its results break; make room in {folder}, or choose other folders with "
        "--results and STOWAGE_CACHE"
    )


def _how(process: psutil.Process) -> str:
    """Return how a child of this process ended; of others only their parent knows."""
    with suppress(ChildProcessError):
        result = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if result is not None:
            return _in_words(result.si_status + (0 if result.si_code == os.CLD_EXITED else _SIGNAL_BASE))
    return ""


def _in_words(code: int) -> str:
    """Return an exit code in words, 128 + n for signal n."""
    number = code - _SIGNAL_BASE
    return f"killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"exit code {code}"
