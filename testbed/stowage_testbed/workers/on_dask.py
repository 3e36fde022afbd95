"""Tasks on the workers of a Dask cluster: processes here, or machines anywhere.

Dask deals with workers that die: it gives their task to another. A task on which
workers die again and again is set aside, after it was tried once more on its own: the
death of a neighbour must not be laid at its door.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import dask
from dask.typing import Key
from distributed import (
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    Worker,
    WorkerPlugin,
    as_completed,
)
from distributed.scheduler import NoWorkerError
from distributed.security import Security
from distributed.worker import get_worker

from stowage_testbed.errors import StowageError, WorkersLostError
from stowage_testbed.workers.engine import Program
from stowage_testbed.workers.program import differences
from stowage_testbed.workers.task import Outcome, RowT, Task, Tools, attempt

PLUGIN = "stowage-tools"

CARRIED_OUT = frozenset({"executing", "long-running"})
"""States of a task at its worker while somebody waits for it."""

END_S = 60.0
"""How long the workers may take to end what is no longer wanted."""
LOOK_EVERY_S = 0.05


class KeptTools(WorkerPlugin):
    """Tools that a worker keeps from task to task.

    Parameters
    ----------
    cores
        That one solve may use; 0 stands for as many as the worker has threads.
    ours
        The worker is a child of this process, which ends it. Ctrl-C on the terminal,
        which reaches both, is for the parent.
    """

    name = PLUGIN

    def __init__(self, cores: int = 0, *, ours: bool = False) -> None:
        self.cores = cores
        self.ours = ours

    def setup(self, worker: Worker) -> None:
        """Make the tools ready."""
        folder = Path(worker.local_directory)
        self.tools = Tools(self.cores or worker.state.nthreads, folder)
        self.turn = threading.Lock()
        if self.ours and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def teardown(self, worker: Worker) -> None:
        """End what they started."""
        self.tools.renew()


class OnDask:
    """The workers that a client knows.

    Parameters
    ----------
    client
        Connected.
    workers
        How many there are; for the eye only.
    cores, ours
        As `KeptTools` takes them.
    """

    def __init__(
        self, client: Client, workers: int, cores: int = 0, *, ours: bool = False
    ) -> None:
        self._client = client
        self.workers = workers
        client.register_plugin(KeptTools(cores, ours=ours))

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        """Yield outcomes as they come; suspects are tried again, each alone.

        When it is closed early, as by an interrupt, what the workers have started for
        tasks under way ends before it returns.
        """
        suspects: list[Task[RowT]] = []
        with closing(self._together(tasks)) as outcomes:
            for outcome, task, killer in outcomes:
                if killer:
                    suspects.append(task)
                else:
                    yield outcome
        for task in suspects:
            with closing(self._together([task])) as outcomes:
                yield from (outcome for outcome, _, _ in outcomes)

    def _together(
        self, tasks: Sequence[Task[RowT]]
    ) -> Generator[tuple[Outcome[RowT], Task[RowT], bool], None, None]:
        # Another sweep of the same scheduler may have a task of this name. Tasks with
        # one first part are a group, of which Dask gives no worker more than it can do.
        group = f"stowage-{token_hex(4)}"
        futures = {
            self._client.submit(_attempt, task, key=(group, task.id), pure=False): task
            for task in tasks
        }
        try:
            for future in as_completed(list(futures)):
                task = futures.pop(future)
                if future.cancelled():
                    raise WorkersLostError(
                        "the Dask scheduler has ended or cannot be reached; start it "
                        "again, and then the same command; what was reported is kept"
                    )
                error = future.exception()
                if isinstance(error, KilledWorker):
                    yield Outcome(task.id, failure=_set_aside(error)), task, True
                elif isinstance(error, NoWorkerError):
                    yield Outcome(task.id, failure=_not_begun(error)), task, False
                else:
                    yield future.result(), task, False
        except WorkersLostError:
            futures.clear()  # nobody can be told to end them
            raise
        finally:
            if futures:
                self._end(list(futures))

    def _end(self, futures: Sequence[Future[Outcome[RowT]]]) -> None:
        """Have the workers end what nobody waits for any more."""
        # Where the scheduler is gone, its workers end too, and all that they started.
        with suppress(OSError, TimeoutError, asyncio.CancelledError):
            self._client.cancel(futures)
            self._client.run(_without_children, END_S)


def _attempt(task: Task[RowT]) -> Outcome[RowT]:
    worker = get_worker()
    kept = worker.plugins[PLUGIN]
    assert isinstance(kept, KeptTools)  # noqa: S101 - registered under this name
    wanted = partial(_is_wanted, worker, worker.get_current_task())
    with kept.turn:
        if not wanted():
            return Outcome(task.id, failure="nobody waits for it")
        kept.tools.wanted = wanted
        return attempt(task, kept.tools)


def _is_wanted(worker: Worker, key: Key) -> bool:
    state = worker.state.tasks.get(key)
    return state is not None and state.state in CARRIED_OUT


async def _without_children(patience_s: float, dask_worker: Worker) -> None:
    """Return when no task of a worker has a process any more, or patience ends."""
    kept = dask_worker.plugins[PLUGIN]
    assert isinstance(kept, KeptTools)  # noqa: S101 - registered under this name
    with suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            while kept.tools.children:
                await asyncio.sleep(LOOK_EVERY_S)


def _set_aside(error: KilledWorker) -> str:
    return (
        f"set aside: {error.allowed_failures + 1} workers died on it, the last at "
        f"{error.last_worker.address}; see the kernel's log for want of memory"
    )


def _not_begun(error: NoWorkerError) -> str:
    return f"not begun: there was no worker for {error.timeout:g} s, nor a new one"


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
        yield OnDask(client, count, cores, ours=True)


@contextmanager
def existing_workers(address: str, program: Program) -> Iterator[OnDask]:
    """Yield an engine of the workers of the Dask scheduler at ``address``.

    Raises
    ------
    StowageError
        No scheduler answers, it has no workers, or ``program`` does not return the same
        there as here.
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
        _refuse_other_programs(client, program)
        yield OnDask(client, len(client.scheduler_info(n_workers=-1)["workers"]))


def _refuse_other_programs(client: Client, program: Program) -> None:
    here = program()
    there: dict[str, dict[str, str] | str]
    try:
        there = client.run(_program_or_error, program)
    except ModuleNotFoundError as error:
        raise StowageError(
            f"a worker lacks a part of Stowage ({error}); install the version of this "
            "machine on every worker: pip install 'stowage[sweep]'"
        ) from error
    differing = []
    for worker, found in there.items():
        differing_here = [found] if isinstance(found, str) else differences(here, found)
        differing += [f"{worker}: {one}" for one in differing_here]
    if differing:
        raise StowageError(
            "results of different programs must not be mixed; install the same version "
            f"of Stowage and its tools on every worker: {'; '.join(differing)}"
        )


def _program_or_error(program: Program) -> dict[str, str] | str:
    try:
        return program()
    except StowageError as error:
        return str(error)
