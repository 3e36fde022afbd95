"""Workers die, and the rows are the same as without failures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from distributed import default_client
from sweep_tasks import LIMIT_S, Deadly, Harmless, same_rows

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.instances.cell import grid
from stowage_testbed.reproduce.instance.request import choose_cells
from stowage_testbed.reproduce.paper.evaluation import PAPER, PaperRequest
from stowage_testbed.reproduce.sweep.engine import InProcess, SweepListener
from stowage_testbed.reproduce.sweep.on_dask import SETTINGS, OnDask, local_workers
from stowage_testbed.reproduce.sweep.task import Task

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = PaperRequest(
    # Each is proved long before steps or, on a busy machine, the clock end it.
    cells=choose_cells(["n4-p4-k[24]-u100", "n4-p4-k4-u95"], grid()),
    sample=2,
    limits_s=(LIMIT_S,),
    deterministic=True,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[OnDask]:
    with local_workers(2) as workers:
        yield workers


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


def test_rows_do_not_depend_on_who_died(tmp_path: Path, engine: OnDask) -> None:
    """The same Parquet, row for row, but for times."""
    quiet, stormy = tmp_path / "quiet", tmp_path / "stormy"
    expected = PAPER.rebuild(REQUEST, quiet, InProcess(), SweepListener())
    killer = Killer()

    evaluation = PAPER.rebuild(REQUEST, stormy, engine, killer)

    assert len(set(killer.killed)) == 2
    assert evaluation.failures == {} == expected.failures
    assert len(evaluation.solved) == 2 * 2 * len(REQUEST.cells)
    same_rows(quiet, stormy)


def test_tasks_that_kill_workers_are_set_aside_and_their_neighbours_are_not(engine: OnDask) -> None:
    """Bad instances must not cost the sweep, nor be blamed on others.

    Five of them kill 40 workers, one after the other, for longer than Dask by itself
    waits for a worker to come back.
    """
    deadly = {f"deadly-{number}" for number in range(5)}
    tasks: list[Task[int]] = [Harmless("first"), *(Deadly(name) for name in deadly)]
    tasks += [Harmless(f"{number}") for number in range(8)]
    outcomes = {outcome.task_id: outcome for outcome in engine.run(tasks)}

    assert set(outcomes) == {task.id for task in tasks}
    assert all("set aside" in outcomes[name].failure for name in deadly)
    assert all(not one.failure for name, one in outcomes.items() if name not in deadly)


def test_a_sweep_without_workers_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be executed any more is reported, and not waited for."""
    monkeypatch.setitem(SETTINGS, "distributed.scheduler.no-workers-timeout", "2s")
    with local_workers(1) as engine:
        client = default_client()
        client.cluster.scale(0)
        workers = partial(client.scheduler_info, n_workers=-1)
        wait_until("no worker", lambda: workers()["workers"], lambda some: not some, timeout_s=60)
        (outcome,) = engine.run([Harmless("late")])
    assert "no worker for 2 s" in outcome.failure


def test_nothing_is_left_running(tmp_path: Path) -> None:
    """Neither workers, nor the schedulers and optimisers that dead ones had started."""
    before = set(_ours())
    with local_workers(1) as workers:
        cells = choose_cells(["n4-p4-k1-u100"], grid())
        request = PaperRequest(cells, 1, limits_s=(0.2,))
        PAPER.rebuild(request, tmp_path, workers, SweepListener())
        started = set(_ours()) - before
        assert any("stowage-simulate" in words for _, words in started)
        assert any("stowage_optimizer.cli" in words for _, words in started)
        worker_processes()[0].kill()
    _, alive = psutil.wait_procs([one for one, _ in started], timeout=HANG_S)
    assert not alive, [words_of(process) for process in alive]


def _ours() -> Iterator[tuple[psutil.Process, str]]:
    for process in psutil.process_iter():
        words = words_of(process)
        if "stowage-simulate" in words or "from stowage_optimizer.cli" in words:
            yield process, words
