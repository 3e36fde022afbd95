"""`stowage run` when a process of it is killed: it ends at once and says which one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from testbed import layout
from testbed.cluster.components import API_SERVER, ETCD, pid_file
from testbed.cluster.processes import processes_of
from testbed.wait import wait_until

BOUND_S = 2.0
LINE_TIMEOUT_S = 120.0
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
WAITS = "step 3 (wait"

pytestmark = pytest.mark.e2e


class Run:
    """A `stowage run` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "progress.log"
        scenario = folder / "test" / "vain.yaml"
        scenario.parent.mkdir()
        scenario.write_text(SCENARIO)
        code = "from testbed.cli import main; main()"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-X", "faulthandler", "-c", code, "run"),
                    *(str(scenario), "--results", str(folder / "results")),
                    *("--junit", str(folder / "junit.xml")),
                ],
                stdout=log,
                stderr=log,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    @property
    def workdir(self) -> Path:
        """The folder of its cluster."""
        name = next(
            line.split()[1].rstrip(":")
            for line in self.said.splitlines()
            if line.startswith("cluster ")
        )
        return layout.clusters_folder() / name

    def wait_for_line(self, text: str) -> None:
        wait_until(
            f"the run to print {text!r}",
            lambda: self.said,
            lambda said: text in said or self.process.poll() is not None,
            timeout_s=LINE_TIMEOUT_S,
        )
        assert text in self.said

    def kill(self, pid: int) -> float:
        """Kill a process of it, and return how long it went on, in seconds."""
        began = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        self.process.wait(LINE_TIMEOUT_S)
        return time.monotonic() - began


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    started = Run(tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGTERM)
        started.process.wait(LINE_TIMEOUT_S)


def component(name: str) -> Callable[[Path], int]:
    return lambda workdir: int(pid_file(workdir, name).read_text())


def scheduler(workdir: Path) -> int:
    (file,) = workdir.glob("hostpods/*/scheduler.pid")
    return int(file.read_text())


@pytest.mark.parametrize(
    ("phase", "victim", "named"),
    [
        (WAITS, component(ETCD), "etcd has ended"),
        ("release deterministic", component(API_SERVER), "kube-apiserver has ended"),
        (WAITS, scheduler, "container scheduler of pod stowage-system/stowage-"),
    ],
    ids=["etcd", "kube-apiserver while Helm waits", "scheduler"],
)
def test_a_process_that_is_killed_ends_the_run_by_its_name(
    run: Run, phase: str, victim: Callable[[Path], int], named: str
) -> None:
    """It said nothing for minutes, or spoke of connections."""
    run.wait_for_line(phase)
    workdir = run.workdir

    lasted_s = run.kill(victim(workdir))

    assert lasted_s < BOUND_S
    assert run.process.returncode == ENDED, run.said
    assert f"the run ended early: {named}" in run.said
    assert "Its last lines" in run.said
    (error,) = ET.parse(run.folder / "junit.xml").getroot().iter("error")  # noqa: S314 - written by the code under test
    assert named in error.attrib["message"]
    assert processes_of(workdir) == []
    assert not workdir.exists()
