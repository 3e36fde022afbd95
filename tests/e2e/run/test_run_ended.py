"""`stowage run` when it cannot go on: it ends at once and says why."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from stowage_run import LINE_TIMEOUT_S, StowageRun

from stowage_testbed.cluster.components import API_SERVER, ETCD, pid_file
from stowage_testbed.cluster.processes import processes_of

ENDED = 3

SCENARIO = """\
version: 1
name: test/vain
description: Waits for what cannot come.
nodes: [{count: 1, cpu: "1", memory: 1G}]
workload:
  - {name: web, kind: Deployment, cpu: 400m, memory: 100M}
steps:
  - apply: web
  - scale: {workload: web, to: 3}
  - wait: {for: bound, of: web, timeout_s: 250}
expect: {end: {placed: 0}}
"""
OPTIMIZED = f"{SCENARIO}scheduler: {{profile: optimizer, optimizer: true}}\n"
WAITS = "step 3 (wait"

pytestmark = pytest.mark.e2e


Start = Callable[..., StowageRun]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a run; one that is left over is ended."""
    started: list[StowageRun] = []

    def starting(text: str, *before: str) -> StowageRun:
        scenario = tmp_path / "test" / "vain.yaml"
        scenario.parent.mkdir()
        scenario.write_text(text)
        junit = ("--junit", str(tmp_path / "junit.xml"))
        run = StowageRun(tmp_path, str(scenario), *junit, before=before)
        started.append(run)
        return run

    yield starting
    for run in started:
        run.end()


def until_its_end(run: StowageRun, act: Callable[[], object]) -> None:
    """Do what it cannot go on after, and wait for its end: half as long as its step."""
    act()
    run.process.wait(LINE_TIMEOUT_S)


def component(name: str) -> Callable[[Path], int]:
    return lambda workdir: int(pid_file(workdir, name).read_text())


def container(name: str) -> Callable[[Path], int]:
    def pid(workdir: Path) -> int:
        (file,) = workdir.glob(f"hostpods/*/{name}.pid")
        return int(file.read_text())

    return pid


@pytest.mark.parametrize(
    ("scenario", "line", "victim", "named"),
    [
        (SCENARIO, WAITS, component(ETCD), "etcd has ended"),
        (
            SCENARIO,
            "serve with profile deterministic",
            component(API_SERVER),
            "kube-apiserver has ended",
        ),
        (
            SCENARIO,
            WAITS,
            container("scheduler"),
            "container scheduler of pod stowage-system/stowage-",
        ),
        (
            OPTIMIZED,
            WAITS,
            container("optimizer"),
            "container optimizer of pod stowage-system/stowage-",
        ),
    ],
    ids=["etcd", "kube-apiserver while Helm waits", "scheduler", "optimizer"],
)
def test_a_process_that_is_killed_ends_the_run_by_its_name(
    start: Start,
    scenario: str,
    line: str,
    victim: Callable[[Path], int],
    named: str,
) -> None:
    """It said nothing for minutes, or spoke of connections.

    Host pods start a container again, as a kubelet does: nobody would notice that what
    is measured was not there for a while.
    """
    run = start(scenario)
    run.wait_for_line(line)
    workdir = run.workdir
    pid = victim(workdir)

    until_its_end(run, lambda: os.kill(pid, signal.SIGKILL))

    assert run.process.returncode == ENDED, run.said
    assert f"the run ended early: {named}" in run.said
    assert "Its last lines" in run.said
    (error,) = ET.parse(run.folder / "junit.xml").getroot().iter("error")  # noqa: S314 - written by the code under test
    assert named in error.attrib["message"]
    assert processes_of(workdir) == []
    assert not workdir.exists()


SMALL_DISK = (
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    'mount -t tmpfs -o size=192m tmpfs "$1" && shift && exec "$@"',
    "sh",
)
"""Gives a process, and nobody else, a disk of its own; needs no rights."""


def test_a_disk_that_is_full_ends_the_run_by_its_folder(
    start: Start, tmp_path: Path
) -> None:
    """What is written then is cut off in the middle of a line."""
    results = tmp_path / "results"
    results.mkdir()
    if subprocess.run([*SMALL_DISK, str(results), "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount a disk of their own")
    run = start(SCENARIO, *SMALL_DISK, str(results))
    run.wait_for_line(WAITS)
    workdir = run.workdir

    root = Path(f"/proc/{run.process.pid}/root{results}")
    until_its_end(run, lambda: fill(root))

    assert run.process.returncode == ENDED, run.said
    assert f"stowage: the disk of {results} is full but for" in run.said
    assert processes_of(workdir) == []
    assert not workdir.exists()


def fill(folder: Path) -> None:
    """Take all the room there is."""
    usage = os.statvfs(folder)
    with (folder / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, usage.f_bavail * usage.f_frsize)
