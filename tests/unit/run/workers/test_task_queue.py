"""Which worker runs which scenario, and when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.workers.number import CLUSTER_BYTES, choose_number
from stowage_testbed.run.workers.tasks import TaskQueue, list_tasks
from stowage_testbed.scenario.load import load_file

SCENARIOS = Path(__file__).parents[4] / "scenarios"
STOCK = ("kubernetes/sidecars", "nodes/drained", "nodes/replacement")
PLANNED = ("plans/asked-for", "paper/figure-1", "plans/quota-just-full")


def queue_of(names: Sequence[str], repeat: int = 1) -> TaskQueue:
    found = [load_file(SCENARIOS / f"{name}.yaml")[0] for name in names]
    return TaskQueue(list_tasks(RunRequest(tuple(found), repeat)))


def taken(queue: TaskQueue, worker: int, *, is_last: bool = False) -> str | None:
    task = queue.take(worker, is_last=is_last)
    return task.scenario.name if task else None


def test_a_worker_gets_what_wants_the_release_that_it_has() -> None:
    """Otherwise every scenario waits for a release."""
    queue = queue_of([STOCK[0], "plans/asked-for", *STOCK[1:], "plans/careful"])

    assert taken(queue, 0) == STOCK[0]
    assert taken(queue, 1) == "plans/asked-for"
    assert [taken(queue, 0), taken(queue, 0)] == list(STOCK[1:])
    assert taken(queue, 0) == "plans/careful"


def test_a_scheduler_that_has_planned_is_not_used_again() -> None:
    """It remembers how long it has solved; the next one may as well be the first."""
    queue = queue_of(PLANNED)

    assert [taken(queue, 0) for _ in PLANNED] == list(PLANNED)


def test_a_scenario_that_measures_is_not_preferred() -> None:
    """It gets a new release anyway."""
    queue = queue_of([STOCK[0], "plans/careful", "burst/recorded", STOCK[1]])

    assert [taken(queue, 0), taken(queue, 0)] == list(STOCK[:2])


def test_bounds_on_figures_are_tried_on_a_machine_with_nothing_else_on_it() -> None:
    """A scenario beside it would take the time that the bound is about."""
    queue = queue_of(["burst/deployment-200", STOCK[0]])

    assert taken(queue, 0) == STOCK[0]
    assert taken(queue, 1) is None
    assert not queue.is_empty
    assert taken(queue, 0, is_last=True) == "burst/deployment-200"
    assert queue.is_empty


def test_every_round_is_taken_once() -> None:
    """Ten rounds say whether all place alike; a round twice says nothing."""
    queue = queue_of(STOCK, repeat=3)

    tasks = [queue.take(number % 2, is_last=False) for number in range(9)]

    assert sorted(task.place for task in tasks if task) == list(range(9))
    assert queue.is_empty


@pytest.mark.parametrize(
    ("tasks", "cores", "clusters_that_fit", "jobs"),
    [
        (35, 2, 8, 3),
        (35, 1, 8, 1),
        (35, 16, 3, 3),
        (35, 16, 32, 8),
        (3, 16, 32, 1),
        (35, 2, 0, 1),
    ],
)
def test_clusters_are_as_many_as_machine_and_scenarios_are_good_for(
    tasks: int, cores: int, clusters_that_fit: int, jobs: int
) -> None:
    """One more would come up for nothing, or make all of them slow."""
    assert choose_number(tasks, cores, clusters_that_fit * CLUSTER_BYTES) == jobs
