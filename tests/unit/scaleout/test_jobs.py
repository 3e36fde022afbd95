"""A worker's child gives a result or a reason, and outlives nobody who waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import psutil
import pytest
from scaled_jobs import Dies, Refuses, Says, Waits, importable

from stowage_testbed.errors import StowageError
from stowage_testbed.scaleout.job import JobTask
from stowage_testbed.wait import wait_until
from stowage_testbed.workers.task import Tools

pytestmark = pytest.mark.usefixtures("_importable")


@pytest.fixture
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    importable(monkeypatch)


def await_file(path: Path) -> None:
    wait_until(str(path), path.exists, bool, timeout_s=30)


def test_a_job_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """And leaves nothing in the worker's folder."""
    ((word, pid, had_folder),) = JobTask("a", Says("yes")).execute(
        Tools(folder=tmp_path)
    )
    assert (word, had_folder) == ("yes", True)
    assert not psutil.pid_exists(pid)
    assert not list(tmp_path.iterdir())


def test_a_known_error_names_the_machine() -> None:
    """With many workers, where it happened is half of the way out."""
    with pytest.raises(StowageError, match=r"^on \S+: kube-apiserver is not inst"):
        JobTask("a", Refuses()).execute(Tools())


def test_a_process_that_dies_is_reported_with_its_last_words() -> None:
    """It has no result that could say why."""
    with pytest.raises(StowageError, match=r"ended with -9; [^$]*so far so good"):
        JobTask("a", Dies()).execute(Tools())


def test_a_worker_that_cannot_write_says_so(tmp_path: Path) -> None:
    """One full disk must not end the run on all other machines."""
    tools = Tools(folder=tmp_path / "gone")
    with pytest.raises(StowageError, match=r"^on \S+: .*No such file or directory"):
        JobTask("a", Says("yes")).execute(tools)


def test_a_job_that_nobody_waits_for_ends_cleanly(tmp_path: Path) -> None:
    """Ctrl-C at the client must bring the clusters of its workers down."""
    tools = Tools()
    tools.wanted = lambda: not (tmp_path / "begun").exists()
    with pytest.raises(StowageError, match="nobody waits"):
        JobTask("a", Waits(tmp_path)).execute(tools)
    assert (tmp_path / "ended").exists()
    assert tools.children == set()


def test_a_job_ends_cleanly_when_its_worker_is_killed(tmp_path: Path) -> None:
    """A batch system kills a worker whose time is up, without a word."""
    code = (
        "from pathlib import Path; from scaled_jobs import Waits;"
        "from stowage_testbed.scaleout.job import JobTask;"
        "from stowage_testbed.workers.task import Tools;"
        f"JobTask('a', Waits(Path({str(tmp_path)!r}))).execute(Tools())"
    )
    worker = subprocess.Popen([sys.executable, "-c", code])
    try:
        await_file(tmp_path / "begun")
    finally:
        worker.kill()
        worker.wait()
    await_file(tmp_path / "ended")


def test_a_worker_knows_its_children_while_they_run(tmp_path: Path) -> None:
    """Who ends early waits for them."""
    tools, over = Tools(), tmp_path / "over"
    tools.wanted = lambda: not over.exists()

    def execute() -> None:
        with pytest.raises(StowageError, match="nobody waits"):
            JobTask("a", Waits(tmp_path)).execute(tools)

    thread = Thread(target=execute)
    thread.start()
    try:
        await_file(tmp_path / "begun")
        assert tools.children == {int((tmp_path / "begun").read_text())}
    finally:
        over.touch()
        thread.join()
