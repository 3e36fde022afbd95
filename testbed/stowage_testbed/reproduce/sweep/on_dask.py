"""Tasks on the workers of a Dask cluster: processes here, or machines anywhere.

Dask deals with workers that die: it gives their task to another. A task on which
workers die again and again is set aside, after it was tried once more on its own: the
death of a neighbour must not be laid at its door.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from secrets import token_hex
from tempfile import TemporaryDirectory
from threading import Lock

import dask
from distributed import Client, KilledWorker, LocalCluster, Worker, WorkerPlugin, as_completed
from distributed.scheduler import NoWorkerError
from distributed.security import Security
from distributed.worker import get_worker

from stowage_testbed.base.errors import StowageError
from stowage_testbed.reproduce.sweep.folder import differences, program
from stowage_testbed.reproduce.sweep.task import Outcome, RowT, Task, Tools, attempt

PLUGIN = "stowage-tools"


class KeptTools(WorkerPlugin):
    """Tools that a worker keeps from task to task.

    A solve may use so many cores; 0 stands for as many as the worker has threads.
    """

    name = PLUGIN

    def __init__(self, cores: int = 0) -> None:
        self.cores = cores

    def setup(self, worker: Worker) -> None:
        """Make the tools ready."""
        self.tools = Tools(self.cores or worker.state.nthreads)
        self.turn = Lock()

    def teardown(self, worker: Worker) -> None:
        """End what they started."""
        self.tools.renew()


class OnDask:
    """The workers that a client knows; how many they are is for the eye only."""

    def __init__(self, client: Client, workers: int, cores: int = 0) -> None:
        self._client = client
        self.workers = workers
        client.register_plugin(KeptTools(cores))

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        """Yield outcomes as they come; suspects are tried again, each alone."""
        suspects: list[Task[RowT]] = []
        yield from self._together(tasks, suspects)
        for task in suspects:
            yield from self._together([task])

    def _together(
        self, tasks: Sequence[Task[RowT]], suspects: list[Task[RowT]] | None = None
    ) -> Iterator[Outcome[RowT]]:
        """Yield outcomes, but of those on which workers died, if suspects are taken."""
        # Another sweep of the same scheduler may have a task of this name.
        sweep = token_hex(4)
        futures = {self._client.submit(_attempt, task, key=f"{task.id}-{sweep}", pure=False): task for task in tasks}
        for future in as_completed(list(futures)):
            task = futures.pop(future)
            error = future.exception()
            if isinstance(error, KilledWorker):
                if suspects is None:
                    yield Outcome(task.id, failure=_set_aside(error))
                else:
                    suspects.append(task)
            elif isinstance(error, NoWorkerError):
                why = f"there was no worker for {error.timeout:g} s, nor a new one"
                yield Outcome(task.id, failure=f"not begun: {why}")
            else:
                yield future.result()


def _attempt(task: Task[RowT]) -> Outcome[RowT]:
    kept = get_worker().plugins[PLUGIN]
    assert isinstance(kept, KeptTools)  # noqa: S101 - registered under this name
    with kept.turn:
        return attempt(task, kept.tools)


def _set_aside(error: KilledWorker) -> str:
    return (
        f"set aside: {error.allowed_failures + 1} workers died on it, the last at "
        f"{error.last_worker.address}; see the kernel's log for want of memory"
    )


CONNECT_S = 20
WORKERS_S = 60

SETTINGS = {
    # The web servers cannot be left out; they stay on the loopback and show nothing.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Solvers keep the cores busy; that is no reason for warnings.
    "distributed.admin.tick.limit": "60s",
    # A worker holds the task that it works on and no other, which would die with it.
    "distributed.scheduler.worker-saturation": 1.0,
    # A worker that has died is started anew. The cluster would take one away that is
    # not there this long after one of its deaths, also after it was back in between.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Where none can be started any more, the sweep ends and says so.
    "distributed.scheduler.no-workers-timeout": "120s",
}


@contextmanager
def local_workers(count: int) -> Iterator[OnDask]:
    """Yield an engine of ``count`` processes, which share the cores.

    They talk through the loopback and with certificates that live as long as the
    cluster: a port that runs what it is sent must not be open to other users.
    """
    cores = max(1, (os.cpu_count() or 1) // count)
    with (
        dask.config.set(SETTINGS),
        TemporaryDirectory(prefix="sto-dask-") as folder,
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            security=Security.temporary(),
            silence_logs=logging.CRITICAL,
            memory_limit=0,
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield OnDask(client, count, cores)


@contextmanager
def existing_workers(address: str) -> Iterator[OnDask]:
    """Yield an engine of the workers of the Dask scheduler at ``address``.

    Raises
    ------
    StowageError
        No scheduler answers, it has no workers, or their programs are not this one's.
    """
    try:
        client = Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise StowageError(
            f"no Dask scheduler answers at {address} ({str(error) or 'no answer'}); "
            "start one with: dask scheduler, and name its address"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            raise StowageError(
                f"the Dask scheduler at {address} has had no worker for "
                f"{WORKERS_S:g} s; start some with: dask worker {address}"
            ) from error
        _refuse_other_programs(client)
        yield OnDask(client, len(client.scheduler_info()["workers"]))


def _refuse_other_programs(client: Client) -> None:
    here = program()
    there: dict[str, dict[str, str] | str] = client.run(_program_or_error)
    differing = []
    for worker, found in there.items():
        differing_here = [found] if isinstance(found, str) else differences(here, found)
        differing += [f"{worker}: {one}" for one in differing_here]
    if differing:
        raise StowageError(
            "results of different programs must not be mixed; install the same version "
            f"of Stowage and its tools on every worker: {'; '.join(differing)}"
        )


def _program_or_error() -> dict[str, str] | str:
    try:
        return program()
    except StowageError as error:
        return str(error)
