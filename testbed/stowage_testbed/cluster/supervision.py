"""Watching over a cluster while a block works with it, and ending the block in time."""

from __future__ import annotations

import contextlib
import errno
import http.client
import os
import select
import shutil
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stowage_testbed.base.child import TAIL_LINES, log_tail, quoted_log
from stowage_testbed.base.ending import Ending, ended_early
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import ETCD, log_file
from stowage_testbed.cluster.etcd import NO_SPACE, etcd_health
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.owner import read_owner
from stowage_testbed.cluster.processes import kill_processes
from stowage_testbed.cluster.watched_processes import WatchedProcesses, how_it_ended
from stowage_testbed.hostpods.ended import EndedContainers

LOOK_EVERY_S = 0.2
"""What has no descriptor to wait for is looked at so often."""
CAUSE_S = 1.0
"""What a thread that fails may be ahead of the process that is the cause: a connection
breaks before its server counts as ended. It takes milliseconds, on a busy machine a few
hundred. Only what fails by itself waits so long."""
LEAST_FREE_BYTES = 128 << 20
"""On a disk: etcd allocates its log in pieces of 64 MB, and the audit log grows by as
much in seconds."""
PATIENCE_S = 2 * (LOOK_EVERY_S + CAUSE_S)
"""How long an error may wait for a deeper cause to be found."""


class Supervisor:
    """Looks after one cluster, in a thread, from `start` to `stop`."""

    def __init__(
        self, cluster: Cluster, ending: Ending, folders: Iterable[Path] = (), least_free_bytes: int = LEAST_FREE_BYTES
    ) -> None:
        self._workdir = cluster.workdir
        self._ending = ending
        self._folders = (cluster.workdir, *folders)
        self._least_free_bytes = least_free_bytes
        self._lock = threading.Lock()
        self._processes = WatchedProcesses(self._workdir)
        self._containers = EndedContainers(self._workdir)
        self._needs_pods = 0
        self._expects_containers = False
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._run, name="supervisor")

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """End the looking; what it has begun to kill is dead on return."""
        os.write(self._stop, b".")
        self._thread.join()
        self._processes.close()
        os.close(self._stop)
        os.close(self._stopped)

    def expect(self, components: Iterable[str]) -> None:
        """Take the end of these for none until `watch_again`."""
        with self._lock:
            self._processes.expect(components)

    def watch_again(self) -> None:
        """Watch every component as it runs now."""
        with self._lock:
            self._processes.open()

    @contextmanager
    def needing_pods(self) -> Iterator[None]:
        """Let the end of a container that has served end the run, in the block."""
        self._containers.new()  # what ended before was not needed
        self._needs_pods += 1
        try:
            yield
        finally:
            self._needs_pods -= 1

    @contextmanager
    def expecting_container_ends(self) -> Iterator[None]:
        """Take the end of a container for none, in the block."""
        self._expects_containers = True
        try:
            yield
        finally:
            self._containers.new()
            self._expects_containers = False

    def look_for_cause(self) -> None:
        """Look whether a process has ended, which may be why something fails."""
        with self._lock:
            descriptors = self._processes.descriptors()
        self._is_stopped(CAUSE_S, descriptors)
        if self._ending.error is None and (found := self._found()):
            self._ending.now(found)

    def _run(self) -> None:
        while True:
            with self._lock:
                descriptors = self._processes.descriptors()
            if self._is_stopped(LOOK_EVERY_S, descriptors):
                return
            found = self._found()
            if found is None and self._ending.reports:
                if self._is_stopped(CAUSE_S):
                    return
                first = self._ending.reports[0]
                if not isinstance(first, RunEndedError):
                    first = _thread_ended("an observer", str(first))
                found = self._found() or first
            if found is not None:
                self._end(found)
                return

    def _is_stopped(self, patience_s: float, others: Iterable[int] = ()) -> bool:
        """Wait for the stop, or until one of the other descriptors is readable."""
        poll = select.poll()
        for descriptor in (self._stopped, *others):
            poll.register(descriptor, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll(patience_s * 1000)}
        return self._stopped in readable

    def _found(self) -> StowageError | None:
        """Return what makes it impossible to go on, if anything does."""
        with self._lock:
            ended = self._processes.ended()
        if ended is not None:
            name, how = ended
            return _process_ended(name, how, log_file(self._workdir, name))
        return self._ended_container() or _full_disk(self._folders, self._least_free_bytes) or self._full_etcd()

    def _full_etcd(self) -> StowageError | None:
        """Return that etcd takes no more writes, unless a fault has made it so."""
        if self._expects(ETCD):
            return None
        found = _etcd_without_room(self._workdir)
        # The fault may have begun while etcd was asked.
        return None if self._expects(ETCD) else found

    def _expects(self, component: str) -> bool:
        with self._lock:
            return self._processes.expects(component)

    def _ended_container(self) -> StowageError | None:
        if not self._needs_pods or self._expects_containers:
            return None
        for ended in self._containers.new():
            name = f"container {ended.container} of pod {ended.pod}"
            return _process_ended(name, how_it_ended(ended.code), Path(ended.log))
        return None

    def _end(self, found: StowageError) -> None:
        self._ending.now(found)
        owner = read_owner(self._workdir)
        if owner is None or owner.kept or owner.pid != os.getpid():
            return
        # Whoever waits for an answer of the cluster, in whatever thread, waits no more.
        with contextlib.suppress(StowageError):
            kill_processes(self._workdir.name, self._workdir)


def _process_ended(name: str, how: str, log: Path) -> RunEndedError:
    return RunEndedError(
        f"{name} has ended{f' ({how})' if how else ''}, and the run with it. "
        f"Its last lines ({log.name}):\n  {quoted_log(log_tail(log))}"
    )


def _thread_ended(name: str, how: str, tail: Sequence[str] = ()) -> RunEndedError:
    lines = "".join(f"\n  {line}" for line in tail)
    return RunEndedError(f"{name} has ended ({how}), and the run with it.{lines}")


def _disk_full(why: str, folder: Path) -> RunEndedError:
    return RunEndedError(
        f"{why}, and the run ends before its results break; make room in {folder}, "
        "or choose other folders with --results and STOWAGE_CACHE"
    )


def _full_disk(folders: Iterable[Path], least_free_bytes: int) -> StowageError | None:
    """Return what is wrong with the disks of some folders, if anything is."""
    for folder in folders:
        # One that is gone, or not there yet, fills nothing.
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free
            if free < least_free_bytes:
                why = f"the disk of {folder} is full but for {free >> 20} MiB"
                return _disk_full(why, folder)
    return None


def _no_room(error: OSError) -> StowageError:
    """Return what to say of a write that failed for lack of room."""
    folder = Path(error.filename).parent if error.filename else Path()
    return _disk_full(f"there is no room left to write to ({error})", folder)


def _etcd_without_room(workdir: Path) -> StowageError | None:
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
    return _disk_full("etcd has reached its quota", workdir / "etcd")


_supervisors: dict[Path, Supervisor] = {}


@contextmanager
def supervised(
    cluster: Cluster, folders: Iterable[Path] = (), least_free_bytes: int = LEAST_FREE_BYTES
) -> Iterator[None]:
    """End the block within a moment once it cannot go on, whatever it waits for.

    That is so when a process of the cluster has ended, when a thread of this process
    that was started for it fails, and when a disk is full. A cluster that is this
    process's own is killed in the same moment; one that was there before, or is kept,
    is left as it is.

    Notes
    -----
    Of a control plane in containers only the processes of this machine are watched.

    The ``folders`` are further ones that the block writes to: their disks are watched
    as well as the cluster's own.

    Raises
    ------
    RunEndedError
        The block was ended; in place of whatever else it raised.
    """
    with ended_early() as ending:
        supervisor = Supervisor(cluster, ending, folders, least_free_bytes)
        _supervisors[cluster.workdir] = supervisor
        supervisor.start()
        try:
            with _threads_reported(ending):
                yield
        except Exception as error:
            supervisor.look_for_cause()
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise _no_room(error) from error
            raise
        finally:
            del _supervisors[cluster.workdir]
            supervisor.stop()


def expect_ends(cluster: Cluster, *components: str) -> None:
    """Take the end of these components for none, until `watch_again`."""
    if cluster.workdir in _supervisors:
        _supervisors[cluster.workdir].expect(components)


def watch_again(workdir: Path) -> None:
    """Watch every component of the cluster in ``workdir`` as it runs now."""
    if workdir in _supervisors:
        _supervisors[workdir].watch_again()


@contextmanager
def needing_host_pods(cluster: Cluster) -> Iterator[None]:
    """Need the containers that serve on this machine as much as the control plane.

    Their restart would go unnoticed, and what is measured would be worth nothing. One
    that has never been ready is the matter of whoever waits for that.
    """
    supervisor = _supervisors.get(cluster.workdir)
    with supervisor.needing_pods() if supervisor else contextlib.nullcontext():
        yield


@contextmanager
def expecting_container_ends(cluster: Cluster) -> Iterator[None]:
    """Take the end of a container that is needed for none, in the block."""
    supervisor = _supervisors.get(cluster.workdir)
    expecting = supervisor.expecting_container_ends() if supervisor else None
    with expecting or contextlib.nullcontext():
        yield


@contextmanager
def _threads_reported(ending: Ending) -> Iterator[None]:
    """Report a thread that ends by an exception; without a word it would be missed."""
    former = threading.excepthook

    def report(ended: threading.ExceptHookArgs) -> None:
        former(ended)
        name = ended.thread.name if ended.thread else "a thread"
        lines = traceback.format_exception(ended.exc_value)[-TAIL_LINES:]
        tail = "".join(lines).splitlines()[-TAIL_LINES:]
        ending.reports.append(_thread_ended(f"thread {name}", repr(ended.exc_value), tail))

    threading.excepthook = report
    try:
        yield
    finally:
        threading.excepthook = former
