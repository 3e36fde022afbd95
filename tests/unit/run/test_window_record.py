"""What a run's record takes from the optimiser's proofs."""

from __future__ import annotations

import pytest
from run_records import a_record, pod_on

from stowage_testbed.metrics.record import PodRecord
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.run.window_record import find_proved_bound

START = Receipt(0, 1_767_225_600 * NS_PER_S)
"""2026-01-01T00:00:00Z, when the window begins."""


def a_plan(phase: str = "Completed", *, placed: int = 1) -> ObservedPlan:
    """Return a plan of second 10; at most two pods more could have been placed."""
    tiers = [
        {"priority": 5, "placed": 0, "upperBound": 0},
        {"priority": 0, "placed": placed, "upperBound": placed + 2},
    ]
    return read_plan(
        {
            "metadata": {
                "uid": "u",
                "name": "p",
                "creationTimestamp": "2026-01-01T00:00:10Z",
            },
            "status": {"phase": phase, "tiers": tiers},
        }
    )


@pytest.mark.parametrize(
    ("plans", "waiting", "bound"),
    [
        ([], [], None),
        ([a_plan()], [], 3),
        ([a_plan("NoImprovement", placed=9)], [], 3),
        # What it says it placed is not there.
        ([a_plan("Aborted")], [], None),
        ([a_plan("Proposed")], [], None),
        ([a_plan(), a_plan("Failed")], [], None),
        # It waits, and the plan knows of it, or not, or it is gone again.
        ([a_plan()], [pod_on(created=9.0)], 3),
        ([a_plan()], [pod_on(created=12.0)], None),
        ([a_plan()], [pod_on(created=12.0, gone=13.0)], 3),
    ],
)
def test_a_bound_is_one_of_the_state_at_the_end(
    plans: list[ObservedPlan], waiting: list[PodRecord], bound: int | None
) -> None:
    """A bound of another state, told as proved, would make a run look worse or best."""
    record = a_record([pod_on("a"), *waiting])

    assert find_proved_bound(record, plans, START) == bound
