"""Processes of an arm: they serve, or the reason is reported; none is left."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.cluster.processes import is_alive
from stowage_testbed.compare.arms.program import (
    READY,
    ArmEndedError,
    ArmProcess,
    Program,
    http_readiness,
    listens_beyond,
)
from stowage_testbed.compare.arms.serving import ServingArm

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


def at_once(_: psutil.Process) -> str:
    return READY


def a_process(
    folder: Path,
    *command: str,
    ready: Callable[[psutil.Process], str] = at_once,
) -> ArmProcess:
    return ArmProcess("mine", Program("scheduler", command, {}, ready), folder)


def a_server(folder: Path, port: int, status: int = 200) -> ArmProcess:
    """Return a server that answers every request with one status."""
    command = (sys.executable, "-c", SERVER, str(port), str(status))
    url = f"http://127.0.0.1:{port}/readyz"
    return a_process(folder, *command, ready=partial(http_readiness, url))


def a_port() -> int:
    return port_beside(f"test-{os.getpid()}")


def test_a_program_is_ready_when_its_endpoint_says_so(tmp_path: Path) -> None:
    """Its log may say so long before."""
    process = a_server(tmp_path, a_port())

    process.start(tmp_path)
    try:
        process.check()
        assert psutil.pid_exists(process.pid)
    finally:
        process.end()

    assert not psutil.pid_exists(process.pid)


def test_an_endpoint_that_says_no_is_quoted(tmp_path: Path) -> None:
    """What is still missing is mostly the cause."""
    process = a_server(tmp_path, a_port(), status=503)

    try:
        with pytest.raises(StowageError, match=r"answers 503 .*: caches are empty"):
            process.start(tmp_path, timeout_s=3)
    finally:
        process.end()


def test_a_port_that_another_serves_is_not_taken_for_the_programs(
    tmp_path: Path,
) -> None:
    """An earlier scheduler would be measured in its place."""
    other = a_server(tmp_path, a_port())
    other.start(tmp_path)
    port = psutil.Process(other.pid).net_connections("tcp")[0].laddr.port
    idle = a_process(tmp_path, "sleep", "600")
    idle.start(tmp_path)

    try:
        answer = http_readiness(f"http://127.0.0.1:{port}/", psutil.Process(idle.pid))
    finally:
        idle.end()
        other.end()

    assert answer == f"nothing of its own listens on port {port}"


def a_listener(*addresses: str, status: str = psutil.CONN_LISTEN) -> Any:
    """Return what psutil says of a process that listens there."""
    connections = [
        SimpleNamespace(status=status, laddr=SimpleNamespace(ip=ip, port=9999))
        for ip in addresses
    ]
    return SimpleNamespace(
        net_connections=lambda _: connections, children=lambda recursive: []
    )


EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "192.0.2.7"])
def test_a_program_that_others_can_reach_is_never_ready(address: str) -> None:
    """A scheduler's secure port on every interface is one flag that was forgotten."""
    process = a_listener("127.0.0.1", address)

    answer = http_readiness("http://127.0.0.1:9999/", process)

    assert answer == (
        f"it listens on {address}:9999, which others can reach; bind it to 127.0.0.1"
    )


def test_the_loopback_is_nobody_elses() -> None:
    """In both families; and a connection to elsewhere is no listening."""
    assert listens_beyond(a_listener("127.0.0.1", "127.0.0.53", "::1")) == ""
    calling = a_listener("192.0.2.7", status=psutil.CONN_ESTABLISHED)
    assert listens_beyond(calling) == ""


def test_a_program_that_ends_shows_its_last_words(tmp_path: Path) -> None:
    """An exit code would send the reader looking for a log."""
    process = a_process(
        tmp_path, "sh", "-c", "echo no such flag; exit 3", ready=lambda _: "not yet"
    )

    with pytest.raises(StowageError, match=r"ended with 3(.|\n)*no such flag"):
        process.start(tmp_path)
    process.end()


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (None, 0o755, "No such file"),
        ("not a program", 0o755, "Exec format error"),
        ("#!/bin/sh\n", 0o644, "Permission denied"),
    ],
)
def test_a_program_that_cannot_be_run_is_named(
    tmp_path: Path, content: str | None, mode: int, why: str
) -> None:
    """The path is what was mistyped."""
    program = tmp_path / "program"
    if content is not None:
        program.write_text(content)
        program.chmod(mode)
    process = a_process(tmp_path, str(program))

    with pytest.raises(StowageError, match=f"{program} cannot be run: {why}"):
        process.start(tmp_path)
    process.end()


def test_a_program_that_is_killed_is_reported(tmp_path: Path) -> None:
    """A run that goes on without its scheduler measures nothing."""
    process = a_process(tmp_path, "sh", "-c", "echo last words; exec sleep 600")
    process.start(tmp_path)
    wait_until("its words", process.log.read_text, bool, timeout_s=HANG_S)
    os.kill(process.pid, signal.SIGKILL)
    child = psutil.Process(process.pid)
    wait_until(
        "its end",
        child.status,
        lambda status: status == psutil.STATUS_ZOMBIE,
        timeout_s=HANG_S,
    )

    with pytest.raises(ArmEndedError, match=r"with -9(.|\n)*last words"):
        ServingArm({"scheduler": process}, "").check()
    process.end()


def test_what_a_program_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if neither obeys a request to end."""
    monkeypatch.setattr("stowage_testbed.compare.arms.program.END_PATIENCE_S", 0.5)
    process = a_process(tmp_path, "sh", "-c", STUBBORN)
    process.start(tmp_path)
    pid = int(wait_until("its child", process.log.read_text, bool, timeout_s=HANG_S))
    grandchild = psutil.Process(pid)

    process.end()

    assert not psutil.pid_exists(process.pid)
    assert not is_alive(grandchild)


def test_nothing_of_the_users_environment_reaches_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GOMAXPROCS would slow some arms and not others."""
    monkeypatch.setenv("GOMAXPROCS", "1")
    monkeypatch.setenv("KUBECONFIG", "/the/users/own")
    process = a_process(tmp_path, "sh", "-c", "env; exec sleep 600")
    process.start(tmp_path)
    written = wait_until("it", process.log.read_text, bool, timeout_s=HANG_S)
    process.end()

    names = {line.partition("=")[0] for line in written.splitlines()}
    assert {"PATH", "HOME", "STOWAGE_CLUSTER_FOLDER"} <= names
    assert not names & {"GOMAXPROCS", "KUBECONFIG"}


def test_a_listener_of_a_child_counts_as_the_programs(tmp_path: Path) -> None:
    """Wrapper scripts are common."""
    port = a_port()
    inner = a_server(tmp_path, port)._program
    quoted = " ".join(f"'{word}'" for word in inner.command)
    process = a_process(tmp_path, "sh", "-c", f"{quoted}; true", ready=inner.ready)

    try:
        process.start(tmp_path)
    finally:
        process.end()

    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
