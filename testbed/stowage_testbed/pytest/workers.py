"""Scenarios on several clusters: workers of pytest-xdist that take them, and report as if one had run all."""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any

import psutil
import pytest
from xdist.scheduler import LoadScheduling

from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.feature_gates import FeatureGates
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.hostpods.launch import PR_SET_PDEATHSIG, control_process
from stowage_testbed.pytest.scenario_items import RunPlugin, ScenarioRunner
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import RunRequest, Task, list_tasks, needs_machine
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.releasing import Release

# ruff: noqa: S301 - what is unpickled comes from another process of the same run


def pytest_configure(config: pytest.Config) -> None:
    """Make a worker of the process, if that is what it was started for.

    It leaves the terminal's group: Ctrl-C is the matter of the process that started it. It is ended when that one
    ends, in whatever way, and takes its cluster down.
    """
    given = getattr(config, "workerinput", None)  # xdist's, and only in a worker
    if given is None:
        return
    os.setpgid(0, 0)
    control_process(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != given["stowage_parent"]:
        pytest.exit("the process that started this worker has ended")
    request, bundle = pickle.loads(given["stowage_run"])
    config.pluginmanager.register(WorkerRunner(request, bundle, _Relay(given["stowage_channel"])))


class _Relay(Listener):
    """Passes on what it is told, with the place of the scenario that it is told of."""

    def __init__(self, channel: Any) -> None:
        super().__init__()
        self._channel = channel
        self.place: int | None = None
        for method in ("run_progress", "scenario_started", "scenario_progress", "scenario_ended", "say"):
            setattr(self, method, partial(self.send, method))

    def send(self, method: str, *arguments: object) -> None:
        """Send; nobody may be there any more, and the cluster must go down still."""
        with suppress(OSError):
            self._channel.send(pickle.dumps((self.place, method, arguments)))

    def close(self) -> None:
        """Show that the cluster is down."""
        self._channel.close()


class WorkerRunner(ScenarioRunner):
    """Runs the scenarios which a worker is given."""

    def __init__(self, request: RunRequest, bundle: tuple[Path, str, Mapping[str, Any]], relay: _Relay) -> None:
        super().__init__(request, Bundle(*bundle, relay))
        self._relay = relay

    def run(self, task: Task) -> None:
        """Run a scenario, and pass its outcome on."""
        self._relay.place = task.place
        super().run(task)
        self._relay.send("end", self.outcomes.pop(task.place))
        self._relay.place = None

    def begin(self, cluster: str) -> None:
        """Pass on the cluster's name."""
        self._relay.send("begin", cluster)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Leave to the parent process how long it took, and why it ended early."""
        self._relay.close()
        problem, error, code = self.problem, "", StowageError.exit_code
        if isinstance(problem, StowageError | OSError):
            error, code = str(problem), getattr(problem, "exit_code", code)
        elif isinstance(problem, KeyboardInterrupt | SystemExit):
            error = "it was interrupted"
        elif problem is not None:
            traceback.print_exception(problem)
            error = f"a worker has failed ({problem!r}), and the run with it"
        output = session.config.workeroutput  # type: ignore[attr-defined] # xdist sets it in its workers
        output["stowage"] = {"durations_s": self.durations_s, "error": error, "code": code}


class WorkerPool(RunPlugin):
    """Has workers run the scenarios of a request."""

    def __init__(self, request: RunRequest, bundle: Bundle) -> None:
        super().__init__(request, bundle)
        self._order = InOrder()
        self._lock = RLock()
        self._workers: dict[str, tuple[psutil.Process, Any]] = {}
        self._clusters: dict[str, str] = {}

    def fail(self, problem: BaseException) -> None:
        """Take note of what ends the run, and end the workers."""
        super().fail(problem)
        if isinstance(problem, RunEndedError):
            self.bundle.run_progress(str(problem))  # at once: to end the workers takes seconds
        self._end_workers()

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> ScenarioScheduling:
        """Return what gives scenarios to workers."""
        return ScenarioScheduling(config, log, list_tasks(self.request))

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what to run, and listen to it."""
        channel = node.gateway.newchannel()
        self._workers[node.gateway.id] = psutil.Process(node.gateway._rinfo().pid), channel
        channel.setcallback(partial(self._hear, node.gateway.id))
        bundle = self.bundle.results, self.bundle.run_id, dict(self.bundle.environment)
        node.workerinput["stowage_run"] = pickle.dumps((self.request, bundle))
        node.workerinput["stowage_channel"] = channel
        node.workerinput["stowage_parent"] = os.getpid()

    @pytest.hookimpl(tryfirst=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """End the run if the worker did not end because all is done."""
        process, _ = self._workers[node.gateway.id]
        output = getattr(node, "workeroutput", {}).get("stowage")
        if output is None:
            raise RunEndedError(
                f"worker process {process.pid} has ended (exit code {process.wait(HANG_S)}), and the run with it"
            )
        for name, spent_s in output["durations_s"].items():
            self.durations_s[name] = max(self.durations_s.get(name, 0.0), spent_s)
        if output["error"]:
            problem = StowageError(output["error"])
            problem.exit_code = output["code"]
            raise problem

    @contextmanager
    def running(self) -> Iterator[None]:
        """Leave no worker and no cluster; where something goes wrong, `fail` sees to that."""
        yield
        self._end_workers()

    def _hear(self, worker: str, message: bytes) -> None:
        """Take what a worker says; each has a thread that listens to it."""
        place, method, arguments = pickle.loads(message)
        with self._lock:
            if method == "begin":
                (self._clusters[worker],) = arguments
                self.cluster = ", ".join(self._clusters[name] for name in self._workers if name in self._clusters)
            elif method == "end":
                (self.outcomes[place],) = arguments
                self._order.end(place)
                if self._order.holds_back:
                    over = f"{len(self.outcomes)} of {self.request.total} scenario runs are over"
                    self.bundle.run_progress(f"{over}; they are told in their order")
            else:
                self._order.tell(place, partial(getattr(self.bundle, method), *arguments))

    def _end_workers(self) -> None:
        """End the workers, with the clusters that are left, and tell what is untold."""
        with self._lock:
            self._order.close()
        ends_s = monotonic() + HANG_S
        for process, _ in self._workers.values():
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        for process, channel in self._workers.values():
            # One that was killed before breaks the channel; one that hangs does not close it.
            with suppress(EOFError, channel.RemoteError, channel.TimeoutError):
                channel.waitclose(max(0.0, ends_s - monotonic()))
            with suppress(psutil.NoSuchProcess):
                process.kill()  # its cluster is down, and a Python that ends by itself takes a second
        if self.problem is not None:
            purge_clusters()  # of a worker that was killed the cluster is a leftover


class TaskQueue:
    """Tasks that wait for a worker: the first comes first, but for two reasons.

    A worker gets the next one that wants the cluster, and then the release, which it has. Those that need the
    machine for themselves come last, to the one worker that is left.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._shared: list[Task] = []
        self._alone: list[Task] = []
        self._has: dict[int, Release] = {}
        self._features: dict[int, FeatureGates] = {}
        for task in tasks:
            (self._alone if needs_machine(task.scenario) else self._shared).append(task)

    def take(self, worker: int, *, is_last: bool) -> Task | None:
        """Return the next task of a worker that is idle; None if it has none left."""
        waiting = self._shared or (self._alone if is_last else [])
        if not waiting:
            return None
        mine = [one for one in waiting if one.scenario.features == self._features.get(worker)]
        task, there = (mine or waiting)[0], self._has.get(worker)
        if mine and there and there.can_be_kept:
            unmeasured = (one for one in mine if not one.scenario.is_measured)
            same = (one for one in unmeasured if next(actions_of(one.scenario.steps, Release), None) == there)
            task = next(same, task)
        waiting.remove(task)
        self._features[worker] = task.scenario.features
        for release in actions_of(task.scenario.steps, Release):
            self._has[worker] = release
        return task


class ScenarioScheduling(LoadScheduling):  # type: ignore[misc] # xdist has no types
    """Gives scenarios to workers one by one, as `TaskQueue` chooses them.

    A worker of xdist begins with a test once it has the next one, or knows that there is none. So it has one more than
    the one that it runs, and one that needs the machine for itself waits at the last worker until the others have
    ended.
    """

    def __init__(self, config: pytest.Config, log: Any, tasks: tuple[Task, ...]) -> None:
        super().__init__(config, log)
        self._tasks, self._queue = tasks, TaskQueue(tasks)

    @property
    def tests_finished(self) -> bool:
        """Whether no worker needs to be given or told anything any more."""
        return self.collection_is_completed and all(node.shutting_down for node in self.nodes)

    def schedule(self) -> None:
        """Give each worker its first scenario, and then its second."""
        self.collection = next(iter(self.node2collection.values()))
        for node in (*self.nodes, *self.nodes):
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0.0) -> None:
        """Give a worker its next scenario if it needs one, or have it end after those it has."""
        given = self.node2pending[node]
        if node.shutting_down or len(given) > 1:
            return
        others = [one for one in self.nodes if one is not node]
        if others and given and needs_machine(self._tasks[given[0]].scenario):
            return
        task = self._queue.take(node.gateway.id, is_last=all(one.shutting_down for one in others))
        if task is None:
            node.shutdown()
        else:
            given.append(task.place)
            node.send_runtest_some([task.place])

    def remove_node(self, node: Any) -> str | None:
        """Take note that a worker has ended; the last one may have waited for that."""
        crashed: str | None = super().remove_node(node)
        for one in self.nodes:
            self.check_schedule(one)
        return crashed


class InOrder:
    """Tells of scenarios in their order, each in one piece.

    The first that is not over is told of as it goes on, what is said of the others waits for their turn. What is
    of no scenario waits for the end of one.
    """

    def __init__(self) -> None:
        self._now = 0
        self._over: set[int] = set()
        self._waiting: defaultdict[int | None, list[Callable[[], None]]] = defaultdict(list)
        self._within = self._is_closed = False

    @property
    def holds_back(self) -> bool:
        """Whether a scenario that is over has not been told of."""
        return any(place > self._now for place in self._over)

    def tell(self, place: int | None, telling: Callable[[], None]) -> None:
        """Tell of a scenario, or of none, now or in its turn."""
        if self._is_closed or place == self._now or (place is None and not self._within):
            self._within = place is not None
            telling()
        else:
            self._waiting[place].append(telling)

    def end(self, place: int) -> None:
        """Note that a scenario is over, and turn to the next."""
        self._over.add(place)
        while self._now in self._over:
            self._turn_to(self._now + 1)

    def close(self) -> None:
        """Tell of what waits, and of the rest at once: the scenarios before it do not end any more."""
        for place in sorted(place for place in self._waiting if place is not None):
            self._turn_to(place)
        self._turn_to(self._now + 1)
        self._is_closed = True

    def _turn_to(self, place: int) -> None:
        self._now, self._within = place, False
        for telling in self._waiting.pop(None, ()):
            telling()
        for telling in self._waiting.pop(place, ()):
            self._within = True
            telling()
