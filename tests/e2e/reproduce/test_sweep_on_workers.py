"""Workers die, and the rows are the same as without failures."""

import logging
from collections.abc import Iterator
from pathlib import Path

import dask
import psutil
import pytest
from distributed import LocalCluster
from sweep_tasks import DEADLY, HERE, LIMIT_S, same_rows

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.reproduce import sweep
from stowage_testbed.reproduce.paper.report import PAPER
from stowage_testbed.reproduce.rebuilding import GridRequest, choose_cells
from stowage_testbed.reproduce.sweep import SweepListener, connect_to_dask, execute, use_processes
from stowage_testbed.scenario.instances import grid

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = GridRequest(
    # Each is proved long before steps or, on a busy machine, the clock end it.
    cells=choose_cells(["n4-p4-k[24]-u100", "n4-p4-k4-u95"], grid()),
    sample=2,
    strategies=PAPER.strategies,
    limits_s=(LIMIT_S,),
    deterministic=True,
)


def worker_processes() -> list[psutil.Process]:
    return [one for one in psutil.Process().children() if "spawn_main" in words_of(one)]


def words_of(process: psutil.Process) -> str:
    """Return the command of a process; nothing of one that has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


class Killer(SweepListener):
    """Kills a worker after some of the outcomes."""

    def __init__(self) -> None:
        self.outcomes = 0
        self.killed: list[int] = []

    def over(self, task_id: str, failure: str) -> None:
        self.outcomes += 1
        if self.outcomes in (2, 9):
            victim = worker_processes()[0]
            self.killed.append(victim.pid)
            victim.kill()


def test_rows_do_not_depend_on_who_died(tmp_path: Path) -> None:
    """The same Parquet, row for row, but for times."""
    quiet, stormy = tmp_path / "quiet", tmp_path / "stormy"
    expected = PAPER.rebuild(REQUEST, quiet, HERE, SweepListener())
    killer = Killer()

    evaluation = PAPER.rebuild(REQUEST, stormy, use_processes(2), killer)

    assert len(set(killer.killed)) == 2
    assert evaluation.failures == {} == expected.failures
    assert len(evaluation.solved) == 2 * 2 * len(REQUEST.cells)
    same_rows(quiet, stormy)


def test_a_task_whose_workers_die_is_set_aside_and_its_neighbours_are_not(tmp_path: Path) -> None:
    """Bad instances must not cost the sweep, nor be blamed on others."""
    written = TaskJournal(tmp_path / "rows.jsonl", int)

    failures = execute("tasks", DEADLY, written, use_processes(2), SweepListener())

    assert list(failures) == ["deadly"]
    assert "its workers died twice" in failures["deadly"]
    assert set(written) == {"first", "last"}


def test_the_workers_of_a_dask_scheduler_share_a_sweep(tmp_path: Path) -> None:
    """A sweep runs on many machines; a task that kills workers is set aside there."""
    journal = TaskJournal(tmp_path / "rows.jsonl", int)
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
            local_directory=str(tmp_path),
        ) as cluster,
        connect_to_dask(cluster.scheduler_address) as workers,
    ):
        failures = execute("tasks", DEADLY, journal, workers, SweepListener())

    assert workers.count == 2
    assert list(failures) == ["deadly"]
    assert set(journal) == {"first", "last"}


def test_where_no_scheduler_answers_the_command_to_start_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the sweep would wait for ever."""
    monkeypatch.setattr(sweep, "CONNECT_S", 1)
    with pytest.raises(StowageError, match="dask scheduler"), connect_to_dask("tcp://127.0.0.1:9"):
        pass


class Looking(SweepListener):
    """Sees what the workers started, and kills one with its tools at the end."""

    def __init__(self, before: set[tuple[psutil.Process, str]]) -> None:
        self._before = before
        self.started: set[tuple[psutil.Process, str]] = set()

    def over(self, task_id: str, failure: str) -> None:
        self.started |= set(_ours()) - self._before
        if " paper " in task_id:
            worker_processes()[0].kill()


def test_nothing_is_left_running(tmp_path: Path) -> None:
    """Neither workers, nor the schedulers and optimisers that dead ones had started."""
    before = set(_ours())
    listener = Looking(before)
    request = GridRequest(("n4-p4-k1-u100",), 1, PAPER.strategies, limits_s=(0.2,))
    PAPER.rebuild(request, tmp_path, use_processes(1), listener)
    started = listener.started
    assert any("stowage-simulate" in words for _, words in started)
    assert any("stowage_optimizer.cli" in words for _, words in started)
    _, alive = psutil.wait_procs([one for one, _ in started], timeout=HANG_S)
    assert not alive, [words_of(process) for process in alive]


def _ours() -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter():
        words = words_of(process)
        if "stowage-simulate" in words or "from stowage_optimizer.cli" in words:
            yield process, words
