"""Tasks on the workers of a Dask cluster: processes here, or machines anywhere.

Dask deals with workers that die: it gives their task to another. A task on which
workers die again and again is set aside, after it was tried once more on its own: the
death of a neighbour must not be laid at its door.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from secrets import token_hex
from threading import Lock

from distributed import Client, KilledWorker, Worker, WorkerPlugin, as_completed
from distributed.worker import get_worker

from stowage_testbed.reproduce.sweep.attempt import attempt
from stowage_testbed.reproduce.sweep.task import Outcome, RowT, Task
from stowage_testbed.reproduce.sweep.tools import Tools

PLUGIN = "stowage-tools"


class KeptTools(WorkerPlugin):
    """Tools that a worker keeps from task to task.

    Parameters
    ----------
    cores
        That one solve may use; 0 stands for as many as the worker has threads.
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
    """The workers that a client knows.

    Parameters
    ----------
    client
        Connected.
    workers
        How many there are; for the eye only.
    cores
        As `KeptTools` takes them.
    """

    def __init__(self, client: Client, workers: int, cores: int = 0) -> None:
        self._client = client
        self.workers = workers
        client.register_plugin(KeptTools(cores))

    def run(self, tasks: Sequence[Task[RowT]]) -> Generator[Outcome[RowT], None, None]:
        """Yield outcomes as they come; suspects are tried again, each alone."""
        suspects: list[Task[RowT]] = []
        for outcome, task, killer in self._together(tasks):
            if killer:
                suspects.append(task)
            else:
                yield outcome
        for task in suspects:
            yield from (outcome for outcome, _, _ in self._together([task]))

    def _together(
        self, tasks: Sequence[Task[RowT]]
    ) -> Iterator[tuple[Outcome[RowT], Task[RowT], bool]]:
        # Another sweep of the same scheduler may have a task of this name.
        sweep = token_hex(4)
        futures = {
            self._client.submit(
                _attempt, task, key=f"{task.id}-{sweep}", pure=False
            ): task
            for task in tasks
        }
        for future in as_completed(list(futures)):
            task = futures.pop(future)
            error = future.exception()
            if isinstance(error, KilledWorker):
                yield Outcome(task.id, failure=_set_aside(error)), task, True
            else:
                yield future.result(), task, False


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
