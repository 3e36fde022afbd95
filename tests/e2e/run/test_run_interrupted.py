"""`stowage run`: interrupted, it leaves nothing; killed, it can be run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from stowage_testbed import layout
from stowage_testbed.cluster.processes import MARK
from stowage_testbed.wait import wait_until

CHECKOUT = Path(__file__).parents[3]
INTERPRETER = (sys.executable, "-c", "from stowage_testbed.cli import main; main()")
END_TIMEOUT_S = 60.0
LINE_TIMEOUT_S = 90.0

pytestmark = pytest.mark.e2e


class Run:
    """A `stowage run` in a process of its own, read line by line."""

    def __init__(self, results: Path) -> None:
        self.log = results / "progress.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*INTERPRETER, "run", "paper/figure-1", "--results", str(results)],
                cwd=CHECKOUT,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def wait_for_line(self, text: str) -> None:
        """Return when progress has shown the text."""
        wait_until(
            f"the run to print {text!r}",
            self.log.read_text,
            lambda shown: text in shown or self.process.poll() is not None,
            timeout_s=LINE_TIMEOUT_S,
        )
        assert text in self.log.read_text()

    def cluster_name(self) -> str:
        """Return the name of the run's cluster."""
        for line in self.log.read_text().splitlines():
            if line.startswith("cluster "):
                return line.split()[1].rstrip(":")
        raise AssertionError(self.log.read_text())


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    started = Run(tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGTERM)
        started.process.wait(END_TIMEOUT_S)


def processes_of(cluster: str) -> list[str]:
    """Return the command lines of the live processes of a cluster."""
    folder = str(layout.clusters_folder() / cluster)
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == folder:
                found.append(" ".join(process.cmdline())[:80])
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("phase", "number", "code"),
    [
        ("cluster run-", signal.SIGINT, 130),
        ("paper/figure-1: release deterministic", signal.SIGTERM, 143),
        ("paper/figure-1: deterministic", signal.SIGINT, 130),
        ("paper/figure-1: release optimizer", signal.SIGINT, 130),
        ("paper/figure-1: optimizer", signal.SIGTERM, 143),
    ],
)
def test_an_interrupted_run_leaves_no_process_and_no_folder(
    run: Run, phase: str, number: signal.Signals, code: int
) -> None:
    """Whoever presses Ctrl-C wants the machine back, whatever the run is doing."""
    run.wait_for_line(phase)

    # To the whole group, as a terminal does: Helm and kwokctl are hit as well.
    os.killpg(run.process.pid, number)

    assert run.process.wait(END_TIMEOUT_S) == code
    name = run.cluster_name()
    assert processes_of(name) == []
    assert not (layout.clusters_folder() / name).exists()


def test_a_killed_run_can_be_run_again(run: Run, tmp_path: Path) -> None:
    """SIGKILL leaves no time to clean up; the next run does it."""
    run.wait_for_line("paper/figure-1: deterministic")
    run.process.kill()
    run.process.wait(END_TIMEOUT_S)
    killed = run.cluster_name()
    assert processes_of(killed) != []
    (tmp_path / "again").mkdir()

    again = Run(tmp_path / "again")

    assert again.process.wait(END_TIMEOUT_S * 3) == 0, again.log.read_text()
    assert processes_of(killed) == []
    assert not (layout.clusters_folder() / killed).exists()
