"""Executing many independent tasks on workers, and keeping what is done."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGKILL, signal
from tempfile import TemporaryDirectory
from typing import Generic, Protocol, TypeVar

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.reproduce.sweep.folder import find_differences, program
from stowage_testbed.simulate import Simulator, find_profile

RowT = TypeVar("RowT")
RowT_co = TypeVar("RowT_co", covariant=True)

CONNECT_S = 20
WORKERS_S = 60


class Tools(ExitStack):
    """Schedulers and optimiser, started when asked for, ended with the block; ``cores`` for a solve, 0 for all."""

    def __init__(self, cores: int = 0) -> None:
        super().__init__()
        self.cores = cores or os.cpu_count() or 1

    @cached_property
    def deterministic(self) -> Simulator:
        """The scheduler of the deterministic profile, which never preempts."""
        return self.enter_context(Simulator(find_profile("deterministic")))

    @cached_property
    def stock(self) -> Simulator:
        """The stock scheduler with preemption, without parallelism, whose order of nodes would decide ties."""
        folder = self.enter_context(TemporaryDirectory(prefix="sto-stock-"))
        profile = yaml.safe_load(find_profile("default").read_text(encoding="utf-8"))
        path = Path(folder) / "stock.yaml"
        path.write_text(yaml.safe_dump({**profile, "parallelism": 1}), encoding="utf-8")
        return self.enter_context(Simulator(path))

    @cached_property
    def service(self) -> RunningService:
        """The optimiser's service."""
        return self.enter_context(running_service())

    def renew(self) -> None:
        """End everything; what is asked for next is started again."""
        self.close()
        for name in ("deterministic", "stock", "service"):
            self.__dict__.pop(name, None)


class Task(Protocol[RowT_co]):
    """A piece of a sweep. It needs no other, and is pickled on its way to a worker."""

    @property
    def id(self) -> str:
        """Return its name, which no other task of the sweep has."""

    def execute(self, tools: Tools) -> tuple[RowT_co, ...]:
        """Return its rows: the same on any machine, except for times."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[RowT]):
    """A task that is over; ``failure`` is empty if it succeeded."""

    task_id: str
    rows: tuple[RowT, ...] = field(default=())
    failure: str = ""


class SweepListener:
    """Receives the progress and ignores it; override what is of interest."""

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        """Take note that ``total`` tasks are to do, of which ``done`` are done."""

    def over(self, task_id: str, failure: str) -> None:
        """Take note that a task is over."""

    def ended(self) -> None:
        """Take note that nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Where ``count`` tasks run, each with ``cores``; ``start`` is called again after an executor broke."""

    count: int
    start: Callable[[], AbstractContextManager[Executor]]
    cores: int = 1


def use_processes(count: int) -> Workers:
    """Return ``count`` processes of this machine, which share its cores."""

    @contextmanager
    def start() -> Iterator[Executor]:
        # A fork would copy the locks of this process's threads in any state.
        context = multiprocessing.get_context("spawn")
        others = {one.pid for one in multiprocessing.active_children()}
        with ProcessPoolExecutor(count, context, _end_with_parent) as executor:
            try:
                yield executor
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)
                for one in multiprocessing.active_children():
                    if one.pid not in others:
                        one.kill()
                raise

    return Workers(count, start, cores=max(1, (os.cpu_count() or 1) // count))


@contextmanager
def connect_to_dask(address: str) -> Iterator[Workers]:
    """Yield a Dask scheduler's workers, a task a thread; a `StowageError` without Dask, an answer or workers."""
    if find_spec("distributed") is None:
        raise StowageError("--dask needs Dask: pip install 'stowage[sweep]'")
    from distributed import Client  # noqa: PLC0415 - optional

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
        executor = client.get_executor(pure=False)
        yield Workers(sum(client.nthreads().values()), lambda: nullcontext(executor))


def execute(
    what: str, tasks: Sequence[Task[RowT]], journal: TaskJournal[RowT], workers: Workers, listener: SweepListener
) -> Mapping[str, str]:
    """Execute each task that the journal does not hold; return why some failed, which are tried again next time.

    A task whose worker dies is tried once more, alone: it may have died of a neighbour.
    """
    missing = [task for task in tasks if task.id not in journal]
    failures: dict[str, str] = {}
    if not missing:
        return failures
    listener.begun(what, len(tasks), len(tasks) - len(missing), workers.count)
    try:
        for outcome in _execute_all(missing, workers):
            if outcome.failure:
                failures[outcome.task_id] = outcome.failure
            else:
                journal.add(outcome.task_id, outcome.rows)
            listener.over(outcome.task_id, outcome.failure)
    finally:
        listener.ended()
    return failures


def _execute_all(tasks: Sequence[Task[RowT]], workers: Workers) -> Iterator[Outcome[RowT]]:
    """Yield each outcome as soon as it is there."""
    left, suspects = deque(tasks), list[Task[RowT]]()
    while left:
        with workers.start() as executor:
            yield from _execute_together(left, suspects, workers, executor)
    for task in suspects:
        with workers.start() as executor:
            future = _submit(task, workers, executor)
            error = future.exception()
            why = f"set aside, for its workers died twice: {error}"
            yield Outcome(task.id, failure=why) if error else future.result()


def _execute_together(
    left: deque[Task[RowT]], suspects: list[Task[RowT]], workers: Workers, executor: Executor
) -> Iterator[Outcome[RowT]]:
    """Yield outcomes until nothing is left or the executor broke."""
    # No more are submitted than are executed: when it breaks, each is a suspect.
    running: dict[Future[Outcome[RowT]], Task[RowT]] = {}
    broken = False
    while running or (left and not broken):
        while left and len(running) < workers.count and not broken:
            try:
                running[_submit(left[0], workers, executor)] = left[0]
            except BrokenExecutor:
                broken = True
            else:
                left.popleft()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            task, error = running.pop(future), future.exception()
            if error is None:
                yield future.result()
            else:
                suspects.append(task)
                broken = broken or isinstance(error, BrokenExecutor)


def _submit(task: Task[RowT], workers: Workers, executor: Executor) -> Future[Outcome[RowT]]:
    return executor.submit(_attempt, task, workers.cores, _read_program())


def _attempt(task: Task[RowT], cores: int, expected: Mapping[str, str]) -> Outcome[RowT]:
    """Return the task's rows, or why there are none; on a worker."""
    try:
        if found := find_differences(_read_program(), expected):
            return Outcome(
                task.id,
                failure="this worker would make rows of another program "
                f"({'; '.join(found)}); install the same version of Stowage and its "
                "tools on every worker",
            )
        return Outcome(task.id, task.execute(_tools_of_thread(cores)))
    except StowageError as error:
        # A process that failed one task is not trusted with the next.
        _tools_of_thread(cores).renew()
        return Outcome(task.id, failure=str(error))


_threads = threading.local()


def _tools_of_thread(cores: int) -> Tools:
    """Return the tools that a worker's thread keeps from task to task."""
    tools: Tools | None = getattr(_threads, "tools", None)
    if tools is None or tools.cores != cores:
        tools = _threads.tools = Tools(cores)
        atexit.register(tools.close)
    return tools


@cache
def _read_program() -> Mapping[str, str]:
    return program()


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), SIGKILL)

    # The parent, which a terminal interrupts as well, ends its workers.
    signal(SIGINT, SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
