"""A process that runs scenarios on a cluster of its own, one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic

from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.hostpods.launch import PR_SET_PDEATHSIG, control_process
from stowage_testbed.run.context import Stopwatch
from stowage_testbed.run.listener import Listener, Writers
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_context
from stowage_testbed.run.tasks import InOrder, Task, TaskQueue, list_tasks
from stowage_testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Said:
    """A call of the listener, by the name of its method."""

    method: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """The cluster is up and clear; ``done`` is what came of the task before, if any."""

    cluster: str
    done: ScenarioOutcome | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker ends; ``error`` says why, if it was not told to."""

    durations_s: Mapping[str, float]
    error: str = ""
    code: int = 1


Message = Said | Idle | Ended


@dataclass(slots=True)
class Relay(Listener):
    """Passes on to the parent process what it is told."""

    connection: Connection

    def send(self, message: Message) -> None:
        """Send; nobody may be there any more, and the cluster must go down still."""
        with suppress(OSError):
            self.connection.send(message)

    def run_progress(self, text: str) -> None:
        """Pass it on."""
        self.send(Said("run_progress", (text,)))

    def scenario_started(self, scenario: Scenario, repeat: int) -> None:
        """Pass it on."""
        self.send(Said("scenario_started", (scenario, repeat)))

    def scenario_progress(self, text: str) -> None:
        """Pass it on."""
        self.send(Said("scenario_progress", (text,)))

    def scenario_ended(self, outcome: ScenarioOutcome) -> None:
        """Pass it on."""
        self.send(Said("scenario_ended", (outcome,)))

    def say(self, text: str) -> None:
        """Pass it on."""
        self.send(Said("say", (text,)))


def work(request: RunRequest, run_id: str, writers: Writers, connection: Connection) -> None:
    """Run what comes through a connection, until that says to end.

    The process leaves the terminal's group: Ctrl-C is the parent's matter. It is ended when that one ends, in whatever
    way, and takes its cluster down.
    """
    os.setpgid(0, 0)
    control_process(PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        return  # it ended before that
    relay, stopwatch = Relay(connection), Stopwatch()
    listener = Listener(relay, writers(relay))
    error, code = "", 0
    try:
        with open_context(request, run_id, listener, stopwatch) as context:
            name = context.cluster.name
            relay.send(Idle(name))
            while (task := connection.recv()) is not None:
                relay.send(Idle(name, run_scenario(context, task.scenario, task.repeat, listener)))
    except (StowageError, OSError) as problem:
        error = str(problem)
        code = getattr(problem, "exit_code", StowageError.exit_code)
    except (KeyboardInterrupt, SystemExit):
        error = "it was interrupted"
    relay.send(Ended(stopwatch.durations_s, error, code))


_FORK = multiprocessing.get_context("fork")
"""Everything is imported; the one thread besides, if any, draws the progress bar."""
_CHUNK_BYTES = 1 << 16


@dataclass(slots=True)
class Worker:
    """A process that works, and the task that it is at."""

    number: int
    process: BaseProcess
    connection: Connection
    cluster: str = ""
    task: Task | None = None
    is_idle: bool = False
    is_told: bool = False
    has_ended: bool = False

    def give(self, task: Task | None) -> None:
        """Give it a task, or tell it to end."""
        self.task, self.is_idle, self.is_told = task, False, task is None
        # That it has died shows itself where it is listened to.
        with suppress(OSError):
            self.connection.send(task)


class WorkerFailedError(StowageError):
    """What ended a worker, with the exit code of its own error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code


class WorkerPool:
    """Runs a request by several workers, and reports as if one had done it."""

    def __init__(self, request: RunRequest, run_id: str, listener: Listener, writers: Writers) -> None:
        self._request = request
        self._run_id = run_id
        self._listener = listener
        self._writers = writers
        tasks = list_tasks(request)
        self._queue, self._count = TaskQueue(tasks), len(tasks)
        self._order = InOrder()
        self._workers: list[Worker] = []
        self._left: list[Worker] = []
        self.outcomes: dict[int, ScenarioOutcome] = {}
        self.durations_s: dict[str, float] = {}

    @property
    def clusters(self) -> list[str]:
        """The clusters that came up."""
        return [one.cluster for one in self._workers if one.cluster]

    def run(self) -> None:
        """Run everything; no worker and no cluster is left afterwards."""
        with ending_cleanly():
            try:
                for number in range(self._request.jobs):
                    self._start(number)
                while self._left:
                    heard = wait([one.connection for one in self._left])
                    for worker in [w for w in self._left if w.connection in heard]:
                        self._hear(worker)
            finally:
                self._stop()

    def _start(self, number: int) -> None:
        ours, theirs = _FORK.Pipe()
        process = _FORK.Process(
            target=work,
            args=(self._request, self._run_id, self._writers, theirs),
            name=f"worker-{number}",
            # One that an interrupt left out of the list below ends with this process.
            daemon=True,
        )
        process.start()
        theirs.close()
        self._workers.append(Worker(number, process, ours))
        self._left.append(self._workers[-1])

    def _hear(self, worker: Worker) -> None:
        try:
            message: Message = worker.connection.recv()
        except (EOFError, OSError):
            self._forget(worker)
            return
        match message:
            case Said(method, arguments):
                telling = partial(getattr(self._listener, method), *arguments)
                if worker.task is None:
                    self._order.tell_between(telling)
                else:
                    self._order.tell(worker.task.place, telling)
            case Idle(cluster, done):
                worker.cluster, worker.is_idle = cluster, True
                if worker.task is not None and done is not None:
                    self.outcomes[worker.task.place] = done
                    self._order.end(worker.task.place)
                    worker.task = None
                    if self._order.holds_back:
                        over = f"{len(self.outcomes)} of {self._count} scenario runs are over"
                        self._listener.run_progress(f"{over}; they are told in their order")
                self._give_tasks()
            case Ended(durations_s, error, code):
                worker.has_ended = True
                for name, spent_s in durations_s.items():
                    self.durations_s[name] = max(self.durations_s.get(name, 0.0), spent_s)
                if error:
                    raise WorkerFailedError(error, code)

    def _forget(self, worker: Worker) -> None:
        """Take note that a worker is gone; the last one may have waited for that."""
        worker.process.join()
        self._left.remove(worker)
        if not worker.has_ended:
            raise RunEndedError(
                f"worker process {worker.process.pid} has ended (exit code "
                f"{worker.process.exitcode}), and the run with it"
            )
        self._give_tasks()

    def _give_tasks(self) -> None:
        for worker in [one for one in self._left if one.is_idle]:
            others = [one for one in self._left if one is not worker]
            task = self._queue.take(worker.number, is_last=not others)
            waits = not self._queue.is_empty and all(one.is_told for one in others)
            if task is not None or not waits:
                worker.give(task)

    def _stop(self) -> None:
        """End the workers that are left, with their clusters, and tell what is untold.

        What they say now is not listened to: an interrupt may have come in the middle of a message.
        """
        self._order.close()
        for worker in self._left:
            if worker.cluster:
                self._listener.run_progress(f"cluster {worker.cluster}: down")
            worker.process.terminate()
        for worker in self._left:
            _await_end(worker)
        if not all(one.has_ended for one in self._workers):
            # Of one that was killed the cluster is a leftover.
            purge_clusters()


def _await_end(worker: Worker) -> None:
    """Return when a worker is dead, and kill it if it hangs."""
    ends = monotonic() + HANG_S
    descriptor = worker.connection.fileno()
    with suppress(OSError):
        while wait([worker.connection], max(0.0, ends - monotonic())):
            if not os.read(descriptor, _CHUNK_BYTES):
                break
    worker.process.join(max(0.0, ends - monotonic()))
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
