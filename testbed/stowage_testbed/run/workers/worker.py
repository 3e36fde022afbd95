"""A process that runs scenarios on a cluster of its own, one after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

from stowage_testbed.base.errors import StowageError
from stowage_testbed.hostpods.launch import PR_SET_PDEATHSIG, control_process
from stowage_testbed.run.listener import Listener, Listeners, Writers
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_context
from stowage_testbed.run.stopwatch import Stopwatch
from stowage_testbed.run.workers.tasks import Task
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
    """Sends what it is told to the parent process."""

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

    The process leaves the terminal's group: Ctrl-C is the parent's matter.
    It is ended when that one ends, in whatever way, and takes its cluster down.
    """
    os.setpgid(0, 0)
    control_process(PR_SET_PDEATHSIG, signal.SIGTERM)
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        return  # it ended before that
    relay, stopwatch = Relay(connection), Stopwatch()
    error, code = "", 0
    try:
        _work(request, run_id, relay, Listeners(relay, writers(relay)), stopwatch)
    except (StowageError, OSError) as problem:
        error = str(problem)
        code = getattr(problem, "exit_code", StowageError.exit_code)
    except (KeyboardInterrupt, SystemExit):
        error = "it was interrupted"
    relay.send(Ended(stopwatch.durations_s, error, code))


def _work(request: RunRequest, run_id: str, relay: Relay, listener: Listener, stopwatch: Stopwatch) -> None:
    with open_context(request, run_id, listener, stopwatch) as context:
        name = context.cluster.name
        relay.send(Idle(name))
        while (task := _receive(relay.connection)) is not None:
            outcome = run_scenario(context, task.scenario, task.repeat, listener)
            relay.send(Idle(name, outcome))


def _receive(connection: Connection) -> Task | None:
    task: Task | None = connection.recv()
    return task
