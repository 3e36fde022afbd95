"""Executing many independent tasks on workers, and the folder that keeps what is done, as Parquet in the end."""

import atexit
import io
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, is_dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGKILL, signal
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import polars as pl
import yaml
from filelock import FileLock, Timeout

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate.process import Simulator, find_profile
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import machine, package_versions, source_digest

RECIPE = 2
"""Counted up whenever a task would give other rows than before."""

RowT = TypeVar("RowT")


@cache
def program() -> Mapping[str, str]:
    """Return what must be the same wherever rows of one sweep are made."""
    versions = package_versions()
    return {
        "recipe": str(RECIPE),
        "optimiser": source_digest(),
        "simulator": tool_build("stowage-simulate", choose_minor()),
        **{name: versions[name] for name in ("numba", "numpy", "ortools")},
    }


def find_differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return what differs, as in ``ortools 9.15 here, 9.14 there``."""
    return [
        f"{name} {here.get(name, 'none')} here, {there.get(name, 'none')} there"
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
    ]


HEADER = "sweep.json"


@dataclass(frozen=True, slots=True)
class Header:
    """What a folder's rows were made of; the scope is what was asked for, as JSON values."""

    kind: str
    program: Mapping[str, str]
    scope: dict[str, Any]
    machines: tuple[str, ...]


def read_header(folder: Path) -> Header:
    """Return what a folder's rows were made of; a `StowageError` if there are none."""
    file = folder / HEADER
    if not file.is_file():
        raise StowageError(f"{folder} holds no results of a sweep; make some with `stowage reproduce` and --results")
    return msgspec.json.decode(file.read_bytes(), type=Header)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep others out for the block; a `StowageError` if somebody else is at work here."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout as error:
        way_out = "wait for it, or name another folder with --results"
        raise StowageError(f"another sweep is at work in {folder}; {way_out}") from error


@contextmanager
def open_sweep(folder: Path, kind: str, scope: dict[str, Any]) -> Iterator[None]:
    """Keep others out for the block, and write the header; a `StowageError` for rows of another kind or program."""
    with lock_folder(folder):
        machines: tuple[str, ...] = ()
        if (folder / HEADER).is_file():
            before = read_header(folder)
            found = find_differences(program(), before.program)
            if before.kind != kind:
                found.append(f"it reproduces {before.kind}, not {kind}")
            if found:
                raise StowageError(
                    f"{folder} holds results that cannot be resumed: {'; '.join(found)}; name another folder "
                    "with --results, or remove this one"
                )
            machines = before.machines
        facts = machine()
        gib = facts["memory_bytes"] / 2**30
        here = f"{facts['system']}, {facts['cpus']} cores, {gib:.0f} GiB, Python {facts['python']}"
        header = Header(kind, program(), scope, tuple(dict.fromkeys((*machines, here))))
        write_whole(folder / HEADER, msgspec.json.format(msgspec.json.encode(header), indent=1) + b"\n")
        yield


def frame_of(rows: Iterable[RowT], row_type: type[RowT]) -> pl.DataFrame:
    """Return rows as a table with a column a field, also if there are none."""
    return pl.DataFrame([msgspec.to_builtins(row) for row in rows], schema=_schema(row_type))


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a table, whole or not at all."""
    content = io.BytesIO()
    frame.write_parquet(content)
    write_whole(path, content.getvalue())


def read_rows(path: Path, row_type: type[RowT]) -> tuple[RowT, ...]:
    """Return the rows of a file, which may have further columns."""
    records = pl.read_parquet(path, columns=list(_schema(row_type))).to_dicts()
    return msgspec.convert(records, tuple[row_type, ...])  # type: ignore[valid-type] # known at run time


def _schema(row_type: type) -> dict[str, Any]:
    return {name: _column(hint) for name, hint in get_type_hints(row_type).items()}


def _column(hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return pl.List(_column(get_args(hint)[0]))
    plain = isinstance(hint, type) and not is_dataclass(hint)
    return pl.DataType.from_python(hint) if plain else pl.Struct(_schema(hint))


CONNECT_S = 20
WORKERS_S = 60


class Tools(ExitStack):
    """Schedulers and optimiser, started when asked for, ended with the block; ``cores`` for a solve, 0 for all."""

    def __init__(self, cores: int = 0) -> None:
        super().__init__()
        self.cores = cores or os.cpu_count() or 1

    @cached_property
    def deterministic(self) -> Simulator:
        """The scheduler of the profile ``deterministic``, which never preempts."""
        return self.enter_context(Simulator(find_profile("deterministic")))

    @cached_property
    def stock(self) -> Simulator:
        """The stock scheduler with preemption, without parallelism, whose order of nodes would decide ties."""
        profile = yaml.safe_load(find_profile("default").read_text("utf-8"))
        path = Path(self.enter_context(TemporaryDirectory(prefix="sto-stock-"))) / "stock.yaml"
        path.write_text(yaml.safe_dump({**profile, "parallelism": 1}), "utf-8")
        return self.enter_context(Simulator(path))

    @cached_property
    def service(self) -> RunningService:
        """The optimiser's service."""
        return self.enter_context(running_service())


@dataclass(frozen=True, slots=True)
class Task(Generic[RowT]):
    """A piece of a sweep, which needs no other; pickled on its way to a worker.

    No other task of the sweep has its ``id``. ``execute`` returns its rows: the same on any machine, except for times.
    """

    id: str
    execute: Callable[[Tools], tuple[RowT, ...]]


Outcome = tuple[str, tuple[RowT, ...], str]
"""A task's name, its rows, and why there are none."""


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
        why = f"no Dask scheduler answers at {address} ({str(error) or 'no answer'})"
        raise StowageError(f"{why}; start one with: dask scheduler, and name its address") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS_S)
        except TimeoutError as error:
            why = f"the Dask scheduler at {address} has had no worker for {WORKERS_S:g} s"
            raise StowageError(f"{why}; start some with: dask worker {address}") from error
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
        for task_id, rows, failure in _outcomes(missing, workers):
            if failure:
                failures[task_id] = failure
            else:
                journal.add(task_id, rows)
            listener.over(task_id, failure)
    finally:
        listener.ended()
    return failures


def _outcomes(tasks: Sequence[Task[RowT]], workers: Workers) -> Iterator[Outcome[RowT]]:
    """Yield each outcome as soon as it is there."""
    left, suspects = deque(tasks), list[Task[RowT]]()
    while left:
        with workers.start() as executor:
            # No more are submitted than are executed: when it breaks, each is a suspect.
            running: dict[Future[Outcome[RowT]], Task[RowT]] = {}
            broken = False
            while running or (left and not broken):
                while left and len(running) < workers.count and not broken:
                    try:
                        running[executor.submit(_attempt, left[0], workers.cores, program())] = left[0]
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
    for task in suspects:
        with workers.start() as executor:
            future = executor.submit(_attempt, task, workers.cores, program())
            error = future.exception()
            yield (task.id, (), f"set aside, for its workers died twice: {error}") if error else future.result()


_threads = threading.local()


def _attempt(task: Task[RowT], cores: int, expected: Mapping[str, str]) -> Outcome[RowT]:
    """Return the task's rows, or why there are none; on a worker, whose thread keeps its tools from task to task."""
    tools: Tools | None = getattr(_threads, "tools", None)
    if tools is None or tools.cores != cores:
        tools = _threads.tools = Tools(cores)
        atexit.register(tools.close)
    try:
        if found := find_differences(program(), expected):
            why = f"this worker would make rows of another program ({'; '.join(found)})"
            return task.id, (), f"{why}; install the same version of Stowage and its tools on every worker"
        return task.id, task.execute(tools), ""
    except StowageError as error:
        # A process that failed one task is not trusted with the next.
        tools.close()
        _threads.tools = None
        return task.id, (), str(error)


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
