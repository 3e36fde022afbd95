"""Ending what the main thread waits for: something it needs is not well, or somebody asks for it."""

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
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from time import monotonic
from types import FrameType

import psutil
import pytest
from silent_cluster import SilentCluster

from stowage_testbed.base import health
from stowage_testbed.base.child import run_child
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import SystemClock, wait_until
from stowage_testbed.cluster.components import ETCD, HOST_PODS, belongs_to, log_file, marked_environment, pid_file
from stowage_testbed.cluster.interruption import ending_cleanly, running_cluster
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.supervision import (
    expect_ends,
    expecting_container_ends,
    needing_host_pods,
    supervised,
    watch_again,
)
from stowage_testbed.hostpods import EndedContainer, EndedContainers

NAMED_WITHIN_S = 2.0
FOREVER_S = 60.0


class Folder(SilentCluster):
    """A cluster of which only its folder is looked at."""

    def __init__(self, workdir: Path) -> None:
        super().__init__(workdir)
        (workdir / "pids").mkdir()
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, component: str) -> subprocess.Popen[bytes]:
        """Start something that sleeps, as a component that has logged two lines."""
        child = subprocess.Popen(["sleep", "60"], env=marked_environment(self.workdir, os.environ))
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


def until() -> None:
    """Wait for a condition that never holds."""
    wait_until("ever", lambda: False, bool, timeout_s=FOREVER_S)


def for_a_command() -> None:
    """Wait as for Helm."""
    run_child(["sleep", "60"], FOREVER_S)


def pause(seconds: float = FOREVER_S) -> None:
    SystemClock().pause(seconds)


def end_of(
    cluster: Folder, act: Callable[[], object] = lambda: None, folders: tuple[Path, ...] = (), least_free_bytes: int = 0
) -> Exception:
    """Act under supervision, wait for ever, and return what ended that."""
    try:
        with supervised(cluster, folders, least_free_bytes):
            act()
            pause()
    except RunEndedError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("wait", [until, for_a_command, pause])
def test_a_process_that_is_killed_ends_whatever_is_waited_for(cluster: Folder, wait: Callable[[], None]) -> None:
    """A run said nothing for minutes after etcd was gone."""
    child, began_s = cluster.start(ETCD), monotonic()

    def act() -> None:
        # Not before: of one that has ended already only its parent can say how.
        after(0.2, child.kill)
        wait()

    error = end_of(cluster, act)

    assert "etcd has ended (killed by SIGKILL)" in str(error)
    assert monotonic() - began_s < NAMED_WITHIN_S


def test_code_that_takes_the_end_for_a_failure_of_its_own_ends_all_the_same(cluster: Folder) -> None:
    """A scenario's errors are caught, and the next scenario would begin."""
    cluster.start(HOST_PODS).kill()

    def careful() -> None:
        with contextlib.suppress(StowageError):
            pause()

    # The last lines mostly name the cause, and the folder is gone a moment later.
    assert "(hostpods.log):\n  first line\n  last line" in str(end_of(cluster, careful))


def fail_in_a_thread(_: Folder) -> None:
    def fail() -> None:
        raise ValueError("no JSON")

    threading.Thread(target=fail, name="watch-Pod").start()


def report_an_observer(_: Folder) -> None:
    health.report(StowageError("the watch broke off"))


def write_without_room(_: Folder) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "results/run.json")


def lose_the_connection(cluster: Folder) -> None:
    """Fail as an HTTP library does whose server was killed."""
    cluster.children[ETCD].kill()
    cluster.children[ETCD].wait()
    raise ConnectionResetError


def lose_the_observer_first(cluster: Folder) -> None:
    """Its connection breaks before etcd is seen to be gone."""
    health.report(StowageError("the watch of Pod broke off"))
    after(0.1, cluster.children[ETCD].kill)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (fail_in_a_thread, "thread watch-Pod has ended (ValueError('no JSON'))"),
        (report_an_observer, "an observer has ended (the watch broke off)"),
        (write_without_room, "make room in results"),
        (lose_the_connection, "etcd has ended"),
        (lose_the_observer_first, "etcd has ended"),
    ],
)
def test_what_fails_ends_the_block_by_the_name_of_its_cause(
    cluster: Folder, monkeypatch: pytest.MonkeyPatch, act: Callable[[Folder], object], said: str
) -> None:
    """An observer that is gone without a word makes every later wait one in vain."""
    # pytest has a hook of its own, which would fail the test.
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    cluster.start(ETCD)

    assert said in str(end_of(cluster, lambda: act(cluster)))


def test_a_process_that_took_over_a_number_is_another(cluster: Folder) -> None:
    """Numbers are used again; this one is a process of somebody else."""
    cluster.children["other"] = other = subprocess.Popen(["sleep", "60"])
    pid_file(cluster.workdir, ETCD).write_text(str(other.pid))

    assert "etcd has ended" in str(end_of(cluster))


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


def test_what_a_fault_does_to_etcd_ends_nothing(cluster: Folder) -> None:
    """Faults fill it or kill it on purpose, and start it again."""
    child, done = cluster.start(ETCD), []

    def fault() -> None:
        expect_ends(cluster, ETCD)
        with full_etcd(cluster.workdir):
            pause(1.0)
        (cluster.workdir / ETCD_SOCKET).unlink()
        child.kill()
        child.wait()
        pause(1.0)
        second = cluster.start(ETCD)
        watch_again(cluster.workdir)
        done.append("ended")
        second.kill()

    assert "etcd has ended" in str(end_of(cluster, fault))
    assert done == ["ended"]


def test_a_container_that_ends_is_missed_where_it_is_needed(cluster: Folder) -> None:
    """A scheduler that was killed is started again, and nobody knew of it."""
    ended = EndedContainer("stowage-system/stowage-x", "scheduler", 137, "no.log")
    record, done = EndedContainers(cluster.workdir), []

    def lose() -> None:
        record.add(ended)
        pause(0.5)
        with needing_host_pods(cluster):
            pause(0.5)
            done.append("nothing was needed when the first ended")
            with expecting_container_ends(cluster):
                record.add(ended)
                pause(0.5)
            pause(0.5)
            done.append("the second ended on purpose")
            record.add(ended)
            pause()

    error = end_of(cluster, lose)

    assert len(done) == 2
    assert "pod stowage-system/stowage-x has ended (killed by SIGKILL)" in str(error)


class Doomed:
    """Something with a finaliser, as connections of a pool have one."""


def test_of_two_blocks_the_inner_ends_alone_and_the_outer_ends_both() -> None:
    """One turn of a comparison fails, the comparison goes on; a cluster that is gone ends it."""
    ill: set[str] = set()

    def look(name: str) -> None:
        if name in ill:
            raise StowageError(name)

    def wait() -> None:
        with health.needing(partial(look, "inner")):
            pause()

    def both() -> None:
        with health.needing(partial(look, "outer")):
            after(0.1, lambda: ill.add("inner"))
            with pytest.raises(StowageError, match="inner"):
                wait()
            ill.clear()
            after(0.1, lambda: ill.update({"outer", "inner"}))
            wait()

    with pytest.raises(StowageError, match="outer"):
        both()


def test_other_threads_than_the_one_that_needs_it_are_left_alone(cluster: Folder) -> None:
    """A watch that pauses must not end by what the main thread is told."""
    cluster.start(ETCD).kill()
    done: list[str] = []

    def in_a_thread() -> None:
        pause(0.3)
        done.append("paused")

    def lose() -> None:
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()

    assert "etcd has ended" in str(end_of(cluster, lose))
    assert done == ["paused"]


@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_the_first_request_to_end_raises_and_no_later_one(number: signal.Signals, error: type[BaseException]) -> None:
    """CI systems and people end jobs; a second one would cut the clean-up short.

    What is raised in a finaliser the interpreter drops: a run went on to its end.
    """
    doomed = [Doomed()]
    weakref.finalize(doomed[0], os.kill, os.getpid(), number)

    def work() -> None:
        doomed.clear()
        threading.Event().wait(FOREVER_S)

    with ending_cleanly():
        with pytest.raises(error):
            work()

        os.kill(os.getpid(), number)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_former_handlers_come_back() -> None:
    """The runner is also a library: pytest has handlers of its own."""

    def own(number: int, frame: FrameType | None) -> None:
        """Do nothing."""

    before = signal.signal(signal.SIGINT, own)
    try:
        with ending_cleanly():
            assert signal.getsignal(signal.SIGINT) is not own
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


class HitGoingDown(SilentCluster):
    """A cluster whose clean-up is interrupted at its first attempt."""

    def __init__(self, workdir: Path) -> None:
        super().__init__(workdir)
        self.downs: list[str] = []

    def up(self) -> None:
        """Start nothing."""

    def down(self) -> None:
        self.downs.append("begun")
        if len(self.downs) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        self.downs.append("done")


def test_an_interrupt_while_going_down_does_not_stop_it(tmp_path: Path) -> None:
    """The clean-up of a run that ends by itself can be hit as well."""
    cluster = HitGoingDown(tmp_path)

    with pytest.raises(KeyboardInterrupt), running_cluster(cluster):
        pass

    assert cluster.downs[-1] == "done"
