"""Which scenario a worker runs next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.run.request import RunRequest
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.applying import Release
from stowage_testbed.scenario.steps.kinds import actions_of
from stowage_testbed.scenario.steps.waiting import Overload


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
    overloads = any(actions_of(scenario.steps, Overload))
    return bool(scenario.expect.metrics) or overloads


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
            mine = self._alone if needs_machine(task.scenario) else self._shared
            mine.append(task)

    @property
    def is_empty(self) -> bool:
        """Whether every task has been taken."""
        return not self._shared and not self._alone

    def take(self, worker: int, *, is_last: bool) -> Task | None:
        """Return the next task of a worker that is idle; None if it has none left."""
        waiting = self._shared or (self._alone if is_last else [])
        if not waiting:
            return None
        has = self._has.get(worker)
        same = (one for one in waiting if has is not None and _begins_with(one, has))
        task = next(same, waiting[0])
        waiting.remove(task)
        for release in actions_of(task.scenario.steps, Release):
            self._has[worker] = release
        return task


def _begins_with(task: Task, has: Release) -> bool:
    """Return whether a scenario keeps a release that it finds there."""
    first = next(actions_of(task.scenario.steps, Release), None)
    return has.can_be_kept and first == has and not task.scenario.is_measured
