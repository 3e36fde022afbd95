"""How many pods steps ask for, which deadlines and default counts go by."""

from __future__ import annotations

from amounts import asked

from stowage_testbed.scenario.arrivals.trace import Template, TracedPod
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply, Delete, Scale
from stowage_testbed.scenario.steps.arriving import Burst, Replay
from stowage_testbed.scenario.steps.demand import (
    Demand,
    count_most_pods,
    count_most_pods_each,
)
from stowage_testbed.scenario.steps.nodes import Cordon

BROUGHT = {"web": 2, "db": 3, "lone": 1}
TRACE = tuple(
    TracedPod(0.0, f"job-{n}", "job", Template(asked(1, 1))) for n in range(4)
)
STEPS: list[Action] = [
    Apply(("web", "db", "budget")),
    Scale("web", 7),
    Delete(("db",)),
    Burst("task", 5),
    Cordon(("node-0",)),
    Burst("task", 5),
    Replay("t.csv", TRACE),
    Scale("web", 0),
]


def test_what_is_asked_for_is_followed_step_by_step() -> None:
    """An object without pods asks for none, a cordon changes nothing."""
    demand, totals = Demand(BROUGHT), list[int]()
    for action in STEPS:
        action.ask(demand)
        totals.append(demand.total)

    assert totals == [5, 10, 7, 12, 12, 17, 21, 14]
    assert demand.of(["task", "job"]) == 14
    assert demand.asked == {"task": 10, "job": 4}


def test_the_most_at_a_time_is_what_there_must_be_room_for() -> None:
    """Pods that were deleted before do not count."""
    assert count_most_pods(STEPS, BROUGHT) == 21
    assert count_most_pods_each(STEPS, BROUGHT) == {
        "web": 7, "db": 3, "task": 10, "job": 4,
    }  # fmt: skip
