"""What Dask's workers are given, and how they are told that nobody waits any more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import dask
import pytest
import sweep_tasks
from distributed import Client, LocalCluster
from sweep_tasks import Harmless, Patient, Side

from stowage_testbed.errors import InputError, StowageError
from stowage_testbed.wait import wait_until
from stowage_testbed.workers import on_dask
from stowage_testbed.workers.on_dask import SETTINGS, OnDask, existing_workers
from stowage_testbed.workers.program import cluster_program
from stowage_testbed.workers.task import Task


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers with two threads each, all in this process."""
    with (
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        ) as made,
    ):
        yield made


@pytest.fixture
def engine(cluster: LocalCluster) -> Iterator[OnDask]:
    with Client(cluster) as client:
        yield OnDask(client, 2)


def test_a_worker_has_one_task_at_a_time_and_none_is_idle(engine: OnDask) -> None:
    """Two clusters beside each other would measure each other's load."""
    sweep_tasks.MOST_BUSY[0] = 0
    outcomes = list(engine.run([Side(f"side-{number}") for number in range(12)]))
    assert {one.failure for one in outcomes} == {""}
    assert sweep_tasks.MOST_BUSY == [2]
    assert len({one.rows for one in outcomes}) == 2


def test_closing_early_waits_until_the_workers_have_ended(engine: OnDask) -> None:
    """An interrupted run must not leave clusters behind when it returns."""
    sweep_tasks.BEGUN.clear()
    sweep_tasks.ENDED.clear()
    tasks: list[Task[object]] = [
        Harmless("first"),
        *(Patient(f"p-{number}") for number in range(5)),
    ]
    with closing(engine.run(tasks)) as early:
        assert next(early).task_id == "first"
        wait_until(
            "tasks under way",
            lambda: list(sweep_tasks.BEGUN),
            lambda some: len(some) == 2,
            timeout_s=10,
        )
    assert sorted(sweep_tasks.ENDED) == sorted(sweep_tasks.BEGUN)
    outcomes = engine.run([Harmless("next")])
    assert [one.failure for one in outcomes] == [""]
    assert len(sweep_tasks.BEGUN) == 2


def test_workers_with_another_program_are_refused(cluster: LocalCluster) -> None:
    """Figures of two versions in one report would be compared as if of one."""
    here = iter([{"optimiser": "abc"}])

    def program() -> dict[str, str]:
        return next(here, {"optimiser": "def"})

    with (
        pytest.raises(StowageError, match="optimiser abc here, def there"),
        existing_workers(cluster.scheduler_address, program),
    ):
        pass


def test_workers_that_lack_something_say_what(cluster: LocalCluster) -> None:
    """Their error is the way out."""
    calls: list[int] = []

    def program() -> dict[str, str]:
        calls.append(1)
        if len(calls) > 1:
            raise InputError("etcd is not installed; run: stowage tools install etcd")
        return {}

    with (
        pytest.raises(StowageError, match="stowage tools install etcd"),
        existing_workers(cluster.scheduler_address, program),
    ):
        pass


def test_workers_without_stowage_are_one_message(cluster: LocalCluster) -> None:
    """Somebody else's Dask cluster is easily named by mistake."""
    calls: list[int] = []

    def program() -> dict[str, str]:
        calls.append(1)
        if len(calls) > 1:
            raise ModuleNotFoundError("No module named 'stowage_testbed'")
        return {}

    with (
        pytest.raises(StowageError, match="pip install 'stowage"),
        existing_workers(cluster.scheduler_address, program),
    ):
        pass


def test_workers_with_the_same_program_are_taken(cluster: LocalCluster) -> None:
    """As many as there are."""
    with existing_workers(cluster.scheduler_address, cluster_program) as engine:
        assert engine.workers == 2
        assert [one.failure for one in engine.run([Harmless("a")])] == [""]


def test_a_scheduler_that_is_not_there_is_one_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With what to start, and nothing of Dask's insides."""
    monkeypatch.setattr(on_dask, "CONNECT_S", 1)
    with (
        pytest.raises(StowageError, match="no Dask scheduler answers at tcp://127"),
        existing_workers("tcp://127.0.0.1:9", dict),
    ):
        pass
