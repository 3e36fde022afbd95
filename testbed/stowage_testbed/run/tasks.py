"""How many scenarios run at a time, which a worker runs next, and in which order they are reported."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.run.request import RunRequest
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.overloading import Overload
from stowage_testbed.scenario.steps.releasing import Release

CLUSTER_BYTES = 1536 << 20
"""Room for a cluster with a few hundred pods, its release and the process that uses it: an estimate."""

CLUSTERS_A_CORE = 1.5
"""A scenario waits more than it works: one at a time takes 0.4 of a core, three at a
time on two cores took 80 s where two took 91 and one 150."""

TASKS_A_CLUSTER = 4
"""A cluster takes as long to come up as a small scenario or two."""


@dataclass(frozen=True, slots=True)
class Task:
    """One scenario in one round; ``place`` is its place in the report, from 0."""

    place: int
    scenario: Scenario
    repeat: int


def list_tasks(request: RunRequest) -> tuple[Task, ...]:
    """Return every scenario in every round, in the order of the report."""
    runs = ((scenario, repeat) for repeat in range(1, request.repeat + 1) for scenario in request.scenarios)
    return tuple(Task(place, *run) for place, run in enumerate(runs))


def needs_machine(scenario: Scenario) -> bool:
    """Return whether others beside it could change its verdict: figures have bounds."""
    return bool(scenario.expect.metrics) or any(actions_of(scenario.steps, Overload))


class TaskQueue:
    """Tasks that wait for a worker: the first comes first, but for two reasons.

    A worker gets the next one that wants the release which it has. Those that need the
    machine for themselves come last, to the one worker that is left.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._shared: list[Task] = []
        self._alone: list[Task] = []
        self._has: dict[int, Release] = {}
        for task in tasks:
            (self._alone if needs_machine(task.scenario) else self._shared).append(task)

    def take(self, worker: int, *, is_last: bool) -> Task | None:
        """Return the next task of a worker that is idle; None if it has none left."""
        waiting = self._shared or (self._alone if is_last else [])
        if not waiting:
            return None
        task, there = waiting[0], self._has.get(worker)
        if there and there.can_be_kept:
            unmeasured = (one for one in waiting if not one.scenario.is_measured)
            same = (one for one in unmeasured if next(actions_of(one.scenario.steps, Release), None) == there)
            task = next(same, task)
        waiting.remove(task)
        for release in actions_of(task.scenario.steps, Release):
            self._has[worker] = release
        return task


def choose_jobs(request: RunRequest, asked: int | None) -> int:
    """Return how many scenarios to run at a time."""
    if request.cluster is not None and asked is not None and asked > 1:
        raise InputError(f"{asked} scenarios at a time need {asked} clusters: leave --cluster or --jobs out")
    together = sum(not needs_machine(one.scenario) for one in list_tasks(request))
    if asked is not None:
        return max(1, min(asked, together))
    if request.cluster is not None or request.keep_cluster or request.backend is not Backend.KWOK_BINARY:
        return 1
    return choose_number(together, len(os.sched_getaffinity(0)), psutil.virtual_memory().available)


def choose_number(tasks: int, cores: int, free_bytes: int) -> int:
    """Return how many clusters so many tasks, cores and bytes are good for."""
    good_for = int(cores * CLUSTERS_A_CORE)
    return max(1, min(good_for, free_bytes // CLUSTER_BYTES, tasks // TASKS_A_CLUSTER))
