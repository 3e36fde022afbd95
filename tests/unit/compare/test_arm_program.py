"""Processes of an arm: they serve, or the reason is reported; none is left."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from stowage_testbed.base import health
from stowage_testbed.base.clock import SystemClock
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.components import is_alive
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.compare.arms.program import (
    READY,
    ArmEndedError,
    ArmProcess,
    Program,
    http_readiness,
    listens_beyond,
)
from stowage_testbed.compare.arms.serving import ServingArm, ended_with

FOREVER_S = 60.0
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]))
        self.end_headers()
        self.wfile.write(b"caches are empty")

HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
STUBBORN = "trap '' TERM; sleep 600 & echo $!; wait"

Start = Callable[..., ArmProcess]


@pytest.fixture
def a_process(tmp_path: Path) -> Iterator[Start]:
    """Return how to make a program's process; all of them are ended afterwards."""
    made: list[ArmProcess] = []

    def make(*command: str, ready: Any = lambda _: READY, name: str = "scheduler") -> ArmProcess:
        made.append(ArmProcess("mine", Program(name, command, {}, ready), tmp_path))
        return made[-1]

    yield make
    for process in made:
        process.end()


def _never(_: object) -> str:
    return "not yet"


def a_server(status: int = 200) -> tuple[tuple[str, ...], Any, int]:
    """Return a server that gives one answer, how it is asked, and its port."""
    port = port_beside(f"test-{os.getpid()}")
    served = f"'{sys.executable}' -c '{SERVER}' {port} {status}; true"
    ready = partial(http_readiness, f"http://127.0.0.1:{port}/readyz")
    return ("sh", "-c", served), ready, port


def logged(process: ArmProcess) -> str:
    return wait_until("its words", process.log.read_text, bool, timeout_s=HANG_S)


def test_a_program_is_ready_when_its_endpoint_says_so_and_ends_with_its_children(
    a_process: Start, tmp_path: Path
) -> None:
    """Its log may say so long before; and wrapper scripts are common."""
    command, ready, port = a_server()
    process = a_process(*command, ready=ready)

    process.start(tmp_path)
    process.check()
    assert psutil.pid_exists(process.pid)
    process.end()

    assert not psutil.pid_exists(process.pid)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_port_that_another_serves_is_not_taken_for_the_programs(a_process: Start, tmp_path: Path) -> None:
    """An earlier scheduler would be measured in its place."""
    command, ready, port = a_server()
    a_process(*command, ready=ready).start(tmp_path)
    idle = a_process("sleep", "600")
    idle.start(tmp_path)

    answer = ready(psutil.Process(idle.pid))

    assert answer == f"nothing of its own listens on port {port}"


def a_listener(*addresses: str, status: str = psutil.CONN_LISTEN) -> Any:
    """Return what psutil says of a process that listens there."""
    found = [SimpleNamespace(status=status, laddr=SimpleNamespace(ip=ip, port=9999)) for ip in addresses]
    return SimpleNamespace(net_connections=lambda _: found, children=lambda recursive: [])


EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "192.0.2.7"])
def test_a_program_that_others_can_reach_is_never_ready(address: str) -> None:
    """A scheduler's secure port on every interface is one flag that was forgotten."""
    answer = http_readiness("http://127.0.0.1:9999/", a_listener("127.0.0.1", address))

    assert answer == (f"it listens on {address}:9999, which others can reach; bind it to 127.0.0.1")
    # Both families have a loopback, and a connection to elsewhere is no listening.
    assert listens_beyond(a_listener("127.0.0.1", "127.0.0.53", "::1")) == ""
    calling = a_listener("192.0.2.7", status=psutil.CONN_ESTABLISHED)
    assert listens_beyond(calling) == ""


@pytest.mark.parametrize(
    ("command", "why"),
    [
        # The path is what was mistyped.
        (["FOLDER/nowhere"], "FOLDER/nowhere cannot be run: No such file"),
        (["FOLDER/text"], "FOLDER/text cannot be run: Exec format error"),
        (["FOLDER/script"], "FOLDER/script cannot be run: Permission denied"),
        # An exit code would send the reader looking for a log.
        (["sh", "-c", "echo no such flag; exit 3"], r"ended with 3(.|\n)*no such flag"),
        # What is still missing is mostly the cause.
        (["server"], r"answers 503 .*: caches are empty"),
    ],
)
def test_a_program_that_does_not_start_is_named_with_the_cause(
    a_process: Start, tmp_path: Path, command: list[str], why: str
) -> None:
    """Nobody should have to look for it."""
    for name, mode in (("text", 0o755), ("script", 0o644)):
        (tmp_path / name).write_text("not a program")
        (tmp_path / name).chmod(mode)
    words: Sequence[str] = [one.replace("FOLDER", str(tmp_path)) for one in command]
    ready = _never
    if command == ["server"]:
        words, ready, _ = a_server(status=503)

    with pytest.raises(StowageError, match=why.replace("FOLDER", str(tmp_path))):
        a_process(*words, ready=ready).start(tmp_path, timeout_s=3)


def test_what_a_program_started_ends_with_it(a_process: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if neither obeys a request to end."""
    monkeypatch.setattr("stowage_testbed.compare.arms.program.END_PATIENCE_S", 0.5)
    process = a_process("sh", "-c", STUBBORN)
    process.start(tmp_path)
    grandchild = psutil.Process(int(logged(process)))

    process.end()

    assert not psutil.pid_exists(process.pid)
    assert not is_alive(grandchild)


def test_nothing_of_the_users_environment_reaches_a_program(
    a_process: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GOMAXPROCS would slow some arms and not others."""
    monkeypatch.setenv("GOMAXPROCS", "1")
    monkeypatch.setenv("KUBECONFIG", "/the/users/own")
    process = a_process("sh", "-c", "env; exec sleep 600")
    process.start(tmp_path)

    names = {line.partition("=")[0] for line in logged(process).splitlines()}
    assert {"PATH", "HOME", "STOWAGE_CLUSTER_FOLDER"} <= names
    assert not names & {"GOMAXPROCS", "KUBECONFIG"}


@pytest.fixture
def arm(a_process: Start, tmp_path: Path) -> ServingArm:
    """Return an arm of two programs that sleep."""
    processes = {}
    for name in ("optimizer", "scheduler"):
        said = f"echo {name} says this; exec sleep 600"
        processes[name] = a_process("sh", "-c", said, name=name)
        processes[name].start(tmp_path)
    return ServingArm(processes, "")


@pytest.mark.parametrize(("number", "later_s"), [(0, 0.0), (0, 0.2), (1, 0.2)])
def test_a_program_that_is_killed_ends_the_block_by_its_arm(arm: ServingArm, number: int, later_s: float) -> None:
    """A turn waited minutes for pods that nobody was there to place."""
    for process in arm.processes.values():
        logged(process)
    # It may end between its start and the first look.
    killing = threading.Timer(later_s, os.kill, [arm.pids[number], signal.SIGKILL])
    killing.start()
    if not later_s:
        killing.join()

    with pytest.raises(ArmEndedError, match=r"mine ended by itself with -9(.|\n)*says"), ended_with(arm):
        SystemClock().pause(FOREVER_S)


def test_the_end_of_the_cluster_comes_before_that_of_its_arm(arm: ServingArm) -> None:
    """Arms die with their cluster; the next turn would begin on what is gone."""
    ended: list[str] = []

    def look() -> None:
        if ended:
            raise RunEndedError(ended[0])

    def whole() -> None:
        with health.needing(look), ended_with(arm):
            ended.append("etcd has ended")
            os.kill(arm.pids[0], signal.SIGKILL)
            SystemClock().pause(FOREVER_S)

    with pytest.raises(RunEndedError, match="etcd has ended"):
        whole()


def test_a_look_at_an_arm_leaves_nothing(arm: ServingArm) -> None:
    """A comparison has hundreds of turns."""
    descriptors, threads = os.listdir("/proc/self/fd"), threading.active_count()

    with ended_with(arm):
        pass

    assert os.listdir("/proc/self/fd") == descriptors
    assert threading.active_count() == threads
