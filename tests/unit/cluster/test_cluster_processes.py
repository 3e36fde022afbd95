"""Processes are known by their mark, not by a number that may be somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from stowage_testbed.cluster.owner import Owner, read_owner, write_owner
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.cluster.processes import (
    kill_processes,
    marked_environment,
    processes_of,
)

PORTS = Ports(1, 2, 3, 4, 5)
WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
WITH_CHILD = (
    "import subprocess, sys\n"
    f"child = subprocess.Popen([sys.executable, '-c', {WAIT!r}], env={{}})\n"
    "sys.stdin.read()"
)

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python programs that wait; they are gone after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def test_marked_processes_are_found_and_killed(start: Start, tmp_path: Path) -> None:
    """A parent that was killed may not have written the id down."""
    process = start(WAIT, marked_environment(tmp_path, os.environ))
    assert [found.pid for found in processes_of(tmp_path)] == [process.pid]

    kill_processes("test", tmp_path)

    assert process.poll() is not None
    assert processes_of(tmp_path) == []


def test_other_processes_are_left_alone(start: Start, tmp_path: Path) -> None:
    """Another cluster's, and those of the user."""
    other = start(WAIT, marked_environment(tmp_path / "other", os.environ))
    unmarked = start(WAIT, dict(os.environ))

    kill_processes("test", tmp_path)

    assert other.poll() is None
    assert unmarked.poll() is None


def test_descendants_without_the_mark_are_killed_too(
    start: Start, tmp_path: Path
) -> None:
    """A release's container has an environment of its own."""
    parent = start(WITH_CHILD, marked_environment(tmp_path, os.environ))
    (child,) = psutil.Process(parent.pid).children()

    kill_processes("test", tmp_path)

    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_live_owner_is_recognised(tmp_path: Path) -> None:
    """It is this very process."""
    write_owner(tmp_path, Owner.this_process(PORTS, "claim"))

    owner = read_owner(tmp_path)

    assert owner is not None
    assert owner.is_alive()


def test_a_process_with_the_owners_id_is_not_the_owner() -> None:
    """Ids are reused; the one who has it now started later."""
    owner = Owner(os.getpid(), 1.0, kept=False, claim_id="claim", ports=PORTS)

    assert not owner.is_alive()


def test_a_dead_owner_is_recognised(start: Start) -> None:
    """Also while its parent has not collected it."""
    process = start(WAIT, dict(os.environ))
    started_s = psutil.Process(process.pid).create_time()
    owner = Owner(process.pid, started_s, kept=False, claim_id="claim", ports=PORTS)
    assert owner.is_alive()

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not owner.is_alive()


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_no_owner(tmp_path: Path, text: str) -> None:
    """A full disk leaves such files; purge must still work."""
    (tmp_path / "owner.json").write_text(text)

    assert read_owner(tmp_path) is None
