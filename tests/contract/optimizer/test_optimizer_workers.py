"""Warm children come back whatever kills them."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import psutil
import pytest

from stowage_optimizer.service.errors import WorkerStartError
from stowage_optimizer.service.settings import WorkerSettings
from stowage_optimizer.service.workers import Workers
from stowage_testbed.wait import HANG_S, wait_until


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Return workers of the shipped strategies."""
    workers = Workers(WorkerSettings())
    workers.warm()
    yield workers
    workers.close()


def wait_for_end(pid: int) -> None:
    wait_until(
        f"process {pid} to have ended",
        lambda: (
            psutil.Process(pid).status() if psutil.pid_exists(pid) else "no process"
        ),
        lambda status: status in (psutil.STATUS_ZOMBIE, "no process"),
        timeout_s=HANG_S,
    )


def test_every_call_gets_a_child_of_its_own(workers: Workers) -> None:
    """Nothing of one solve reaches the next."""
    first, second = workers.take(), workers.take()

    assert first.pid != second.pid
    first.close()
    second.close()


def test_a_spare_child_that_was_killed_is_replaced(workers: Workers) -> None:
    """The kernel's memory killer may take the idle one."""
    spare = workers.prepare()
    assert spare is not None
    workers.warm()
    spare.kill()
    wait_for_end(spare.pid)

    child = workers.take()

    assert child.pid != spare.pid
    child.close()


def test_a_spare_child_killed_before_it_was_ready_is_replaced(workers: Workers) -> None:
    """It may end between its fork and its first word."""
    workers.take().close()
    spare = workers.prepare()
    assert spare is not None
    spare.kill()
    wait_for_end(spare.pid)

    child = workers.take()

    assert child.pid != spare.pid
    child.close()


def test_a_fork_server_that_was_killed_is_replaced(workers: Workers) -> None:
    """The service heals itself, without a restart of the pod."""
    spare = workers.prepare()
    assert spare is not None
    fork_server = psutil.Process(spare.pid).parent()
    assert fork_server is not None
    fork_server.kill()
    wait_for_end(fork_server.pid)

    child = workers.take()

    assert psutil.pid_exists(child.pid)
    child.close()


def test_a_child_of_a_killed_fork_server_is_reported_at_once_and_the_next_one_goes_on(
    workers: Workers,
) -> None:
    """Its end must not wait for a start, or be asked of another fork server."""
    child = workers.take()
    first = psutil.Process(child.pid).parent()
    assert first is not None
    first.kill()
    wait_for_end(first.pid)
    workers.take().close()
    spare = workers.prepare()
    assert spare is not None
    second = psutil.Process(spare.pid).parent()
    assert second is not None

    assert child.wait() == -signal.SIGKILL

    child.close()
    another = workers.take()
    assert psutil.Process(another.pid).ppid() == second.pid
    another.close()


def test_strategies_that_cannot_be_loaded_are_told_at_the_start() -> None:
    """Not at the first call, hours later."""
    workers = Workers(WorkerSettings(strategies="no.such.module:strategies"))

    with pytest.raises(WorkerStartError):
        workers.warm()

    workers.close()
