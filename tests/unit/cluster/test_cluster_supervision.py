"""Ending what the main thread does, from a thread that has seen why."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socketserver
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest
from silent_cluster import SilentCluster

from stowage_testbed.base.clock import SystemClock
from stowage_testbed.base.ending import Ending, ended_early, report
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.components import ETCD, HOST_PODS, log_file, pid_file
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.processes import belongs_to, marked_environment
from stowage_testbed.cluster.supervision import (
    expect_ends,
    expecting_container_ends,
    needing_host_pods,
    supervised,
    watch_again,
)
from stowage_testbed.hostpods.ended import EndedContainer, EndedContainers

SWALLOWED_S = 2.0
FOREVER_S = 60.0


class Folder(SilentCluster):
    """A cluster of which only its folder is looked at."""

    def __init__(self, workdir: Path) -> None:
        super().__init__(workdir)
        (workdir / "pids").mkdir()
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, component: str) -> subprocess.Popen[bytes]:
        """Start something that sleeps, as a component that has logged two lines."""
        child = subprocess.Popen(
            ["sleep", "60"], env=marked_environment(self.workdir, os.environ)
        )
        # A program that is being loaded has no environment yet.
        wait_until(
            f"the mark of {component}",
            lambda: belongs_to(psutil.Process(child.pid), self.workdir),
            bool,
            timeout_s=FOREVER_S,
        )
        pid_file(self.workdir, component).write_text(str(child.pid))
        log_file(self.workdir, component).write_text("first line\nlast line\n")
        self.children[component] = child
        return child


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path)
    yield folder
    for child in folder.children.values():
        child.kill()
        child.wait()


def after(seconds: float, act: Callable[[], object]) -> None:
    threading.Timer(seconds, act).start()


def in_a_pipe() -> None:
    """Wait as for an answer that never comes."""
    reading, _writing = os.pipe()
    os.read(reading, 1)


def for_a_command() -> None:
    """Wait as for Helm."""
    with subprocess.Popen(["sleep", "60"]) as command:
        try:
            command.communicate(timeout=FOREVER_S)
        except BaseException:
            command.kill()
            raise


def end_of(
    cluster: Folder,
    act: Callable[[], object] = lambda: None,
    folders: tuple[Path, ...] = (),
    least_free_bytes: int = 0,
) -> Exception:
    """Act under supervision, wait for ever, and return what ended that."""
    try:
        with supervised(cluster, folders, least_free_bytes):
            act()
            threading.Event().wait(FOREVER_S)
    except RunEndedError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    "wait",
    [
        in_a_pipe,
        for_a_command,
        lambda: threading.Event().wait(FOREVER_S),
        lambda: SystemClock().pause(FOREVER_S),
    ],
    ids=["in a pipe", "for a command", "for an event", "asleep"],
)
def test_a_process_that_is_killed_ends_whatever_is_waited_for(
    cluster: Folder, wait: Callable[[], None]
) -> None:
    """A run said nothing for minutes after etcd was gone."""
    child = cluster.start(ETCD)

    def act() -> None:
        # Not before: of one that has ended already only its parent can say how.
        after(0.2, child.kill)
        wait()

    error = end_of(cluster, act)

    assert "etcd has ended (killed by SIGKILL)" in str(error)


def test_the_last_log_lines_are_reported(cluster: Folder) -> None:
    """They mostly name the cause, and the folder is gone a moment later."""
    cluster.start(HOST_PODS).kill()

    error = end_of(cluster)

    assert "(hostpods.log):\n  first line\n  last line" in str(error)


def test_no_code_on_the_way_takes_the_end_for_a_failure_of_its_own(
    cluster: Folder,
) -> None:
    """A scenario's errors are caught, and the next scenario would begin."""
    after(0.2, cluster.start(ETCD).kill)
    survived = []

    def careful() -> None:
        try:
            threading.Event().wait(FOREVER_S)
        except Exception as error:
            survived.append(error)

    assert "etcd has ended" in str(end_of(cluster, careful))
    assert survived == []


def test_an_error_that_a_death_has_caused_gives_way_to_it(cluster: Folder) -> None:
    """An HTTP library's words say nothing of the API server that was killed."""
    etcd = cluster.start(ETCD)

    def ask() -> None:
        etcd.kill()
        etcd.wait()
        raise ConnectionResetError

    assert "etcd has ended" in str(end_of(cluster, ask))


def test_an_expected_end_ends_nothing_until_it_is_watched_again(
    cluster: Folder,
) -> None:
    """Faults kill processes on purpose and start them again."""
    child = cluster.start(ETCD)
    done = []

    def fault() -> None:
        expect_ends(cluster, ETCD)
        child.kill()
        child.wait()
        threading.Event().wait(1.0)
        second = cluster.start(ETCD)
        watch_again(cluster.workdir)
        done.append("ended")
        second.kill()

    assert "etcd has ended" in str(end_of(cluster, fault))
    assert done == ["ended"]


def test_a_process_that_took_over_a_number_is_not_taken_for_the_component(
    cluster: Folder,
) -> None:
    """Numbers are used again; this one is a process of somebody else."""
    with subprocess.Popen(["sleep", "60"]) as other:
        pid_file(cluster.workdir, ETCD).write_text(str(other.pid))
        try:
            assert "etcd has ended" in str(end_of(cluster))
        finally:
            other.kill()


def test_a_thread_that_fails_ends_the_block_by_its_name(
    cluster: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An observer that is gone without a word makes every later wait one in vain."""
    # pytest has a hook of its own, which would fail the test.
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def fail() -> None:
        raise ValueError("no JSON")

    error = end_of(cluster, threading.Thread(target=fail, name="watch-Pod").start)

    assert "thread watch-Pod has ended (ValueError('no JSON'))" in str(error)


def test_a_process_is_named_before_the_observer_that_lost_it(cluster: Folder) -> None:
    """Its connection breaks first."""
    etcd = cluster.start(ETCD)

    def lose() -> None:
        report(StowageError("the watch of Pod broke off"))
        after(0.1, etcd.kill)

    assert "etcd has ended" in str(end_of(cluster, lose))


def test_a_report_without_a_deeper_cause_ends_the_block(cluster: Folder) -> None:
    """The API server may be well and only the watch be gone."""
    cluster.start(ETCD)

    error = end_of(cluster, lambda: report(StowageError("the watch broke off")))

    assert "an observer has ended (the watch broke off)" in str(error)


def test_a_disk_that_fills_up_ends_the_block(cluster: Folder, tmp_path: Path) -> None:
    """What is written then is cut off in the middle of a line."""
    error = end_of(cluster, folders=(tmp_path,), least_free_bytes=1 << 62)

    assert f"the disk of {tmp_path} is full but for" in str(error)


@contextmanager
def full_etcd(folder: Path) -> Iterator[None]:
    """Answer as an etcd that has reached its quota."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"health":"false","reason":"ALARM NOSPACE"}'
            self.send_response(503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing; there is no address to name."""

    with contextlib.chdir(folder):  # a socket's path may not be as long
        server = socketserver.ThreadingUnixStreamServer(ETCD_SOCKET, Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_etcd_that_takes_no_writes_ends_the_block(cluster: Folder) -> None:
    """It runs, answers, and nothing is ever done again."""
    cluster.start(ETCD)

    with full_etcd(cluster.workdir):
        error = end_of(cluster)

    assert "etcd has reached its quota" in str(error)


def test_an_etcd_that_a_fault_has_filled_ends_nothing(cluster: Folder) -> None:
    """The fault makes room again."""
    child, done = cluster.start(ETCD), []

    def fault() -> None:
        expect_ends(cluster, ETCD)
        with full_etcd(cluster.workdir):
            threading.Event().wait(1.0)
        (cluster.workdir / ETCD_SOCKET).unlink()
        watch_again(cluster.workdir)
        done.append("ended")
        child.kill()

    assert "etcd has ended" in str(end_of(cluster, fault))
    assert done == ["ended"]


def test_a_write_that_finds_no_room_is_reported_as_such(cluster: Folder) -> None:
    """A traceback is no message."""

    def write() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "results/run.json")

    error = end_of(cluster, write)

    assert "make room in results" in str(error)


def test_a_container_that_served_is_missed_where_it_is_needed(cluster: Folder) -> None:
    """A scheduler that was killed is started again, and nobody knew of it."""
    ended = EndedContainer("stowage-system/stowage-x", "scheduler", 137, "no.log")
    record, done = EndedContainers(cluster.workdir), []

    def lose() -> None:
        record.add(ended)
        threading.Event().wait(0.5)
        with needing_host_pods(cluster):
            threading.Event().wait(0.5)
            done.append("nothing was needed when the first ended")
            record.add(ended)
            threading.Event().wait(FOREVER_S)

    error = end_of(cluster, lose)

    assert len(done) == 1
    assert "pod stowage-system/stowage-x has ended (killed by SIGKILL)" in str(error)


def test_a_container_that_ends_on_purpose_ends_nothing(cluster: Folder) -> None:
    """A step kills the scheduler; what ends after that is missed as ever."""
    ended = EndedContainer("stowage-system/stowage-x", "scheduler", 137, "no.log")
    record, done = EndedContainers(cluster.workdir), []

    def lose() -> None:
        with needing_host_pods(cluster):
            with expecting_container_ends(cluster):
                record.add(ended)
                threading.Event().wait(0.5)
            threading.Event().wait(0.5)
            done.append("the first ended on purpose")
            record.add(ended)
            threading.Event().wait(FOREVER_S)

    error = end_of(cluster, lose)

    assert len(done) == 1
    assert "pod stowage-system/stowage-x has ended" in str(error)


class Doomed:
    """Something with a finaliser, as connections of a pool have one."""


def waiting(prepare: Callable[[Ending], object]) -> None:
    with ended_early() as ending:
        prepare(ending)
        threading.Event().wait(FOREVER_S)


def test_an_end_that_a_finaliser_swallows_comes_again() -> None:
    """The interpreter drops what is raised there."""
    doomed = [Doomed()]

    def prepare(ending: Ending) -> None:
        def finalise() -> None:
            ending.now(StowageError("over"))
            threading.Event().wait(SWALLOWED_S)

        weakref.finalize(doomed[0], finalise)
        doomed.clear()

    with pytest.raises(StowageError, match="over"):
        waiting(prepare)


def test_the_inner_of_two_blocks_ends_alone() -> None:
    """One turn of a comparison fails, the comparison goes on."""
    done = []

    def outer(ending: Ending) -> None:
        def inner(nested: Ending) -> None:
            after(0.1, lambda: nested.now(StowageError("inner")))

        with pytest.raises(StowageError, match="inner"):
            waiting(inner)
        done.append("inner")
        after(0.1, lambda: ending.now(StowageError("outer")))
        waiting(lambda _: None)
        done.append("nobody comes here")

    with pytest.raises(StowageError, match="outer"):
        waiting(outer)
    assert done == ["inner"]


def test_nothing_of_it_is_left_behind() -> None:
    """The runner is also a library."""
    former = signal.getsignal(signal.SIGRTMIN)

    with ended_early():
        pass

    assert signal.getsignal(signal.SIGRTMIN) == former
