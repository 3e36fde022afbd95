"""`stowage run`: interrupted, it leaves nothing; killed, it can be run again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from stowage_run import END_TIMEOUT_S, StowageRun

from stowage_testbed.cluster.processes import processes_of

pytestmark = pytest.mark.e2e


FIGURE_1 = "paper/figure-1"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StowageRun]:
    started = StowageRun(tmp_path, FIGURE_1)
    yield started
    started.end()


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ("cluster run-", signal.SIGINT, 130),
        ("serve with profile deterministic", signal.SIGTERM, 143),
        ("create first, second and third", signal.SIGINT, 130),
        ("serve with profile optimizer", signal.SIGINT, 130),
        ("have the optimiser pack", signal.SIGTERM, 143),
    ],
)
def test_an_interrupted_run_leaves_no_process_and_no_folder(
    run: StowageRun, line: str, number: signal.Signals, code: int
) -> None:
    """Whoever presses Ctrl-C wants the machine back, whatever the run is doing."""
    run.wait_for_line(line)

    # To the whole group, as a terminal does: Helm and kwokctl are hit as well.
    os.killpg(run.process.pid, number)

    assert run.process.wait(END_TIMEOUT_S) == code
    assert processes_of(run.workdir) == []
    assert not run.workdir.exists()


def test_a_killed_run_can_be_run_again(run: StowageRun, tmp_path: Path) -> None:
    """SIGKILL leaves no time to clean up; the next run does it."""
    run.wait_for_line("create first, second and third")
    run.process.kill()
    run.process.wait(END_TIMEOUT_S)
    killed = run.workdir
    assert processes_of(killed) != []
    (tmp_path / "again").mkdir()

    again = StowageRun(tmp_path / "again", FIGURE_1)

    assert again.process.wait(END_TIMEOUT_S * 3) == 0, again.said
    assert processes_of(killed) == []
    assert not killed.exists()
