"""The time for a whole answer is divided among its parts."""

from __future__ import annotations

from stowage_testbed.whatif.allowance import (
    LIFTED_SHARE,
    PLACING_SHARE,
    SMALL,
    SURE_SOLVES,
    Allowance,
)


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_all_parts_together_take_the_time_that_was_given() -> None:
    """Each had the whole limit: ten seconds became a minute."""
    clock = Clock()
    allowance = Allowance(10.0, SMALL + 1, clock)
    clock.now += 2.0  # reading

    for share, later in ((PLACING_SHARE, 4.0), (LIFTED_SHARE, 2.0), (1.0, 2.0)):
        clock.now = allowance.part(share, later).ends + later / 2
    assert clock.now <= 10.0


def test_a_plan_that_is_made_again_does_not_get_all_the_time_again() -> None:
    """Of a part's time each solve gets a share of what is left."""
    clock = Clock()
    part = Allowance(10.0, SMALL + 1, clock).part(1.0, 0.0)
    solves = 0

    while (time_s := part.solve_s()) is not None:
        clock.now += time_s
        solves += 1
    assert clock.now <= 10.0
    assert solves > 2


def test_what_takes_no_time_to_speak_of_is_asked_on_a_busy_machine_too() -> None:
    """There the processes take seconds to start; a small cluster's answer is whole."""
    clock = Clock()
    small, large = (Allowance(10.0, size, clock) for size in (SMALL, SMALL + 1))
    clock.now += 20.0

    assert small.part(1.0, 5.0).solve_s() is not None
    assert large.part(1.0, 5.0).solve_s() is None
    assert large.part(PLACING_SHARE, 5.0).solve_s() is not None


def test_a_refused_plan_of_a_small_cluster_is_made_again_though_the_time_is_over() -> (
    None
):
    """Starting the optimiser took all of it: one pod's refusal emptied the answer."""
    clock = Clock()
    allowance = Allowance(2.0, SMALL, clock)
    clock.now += 1.9

    part = allowance.part(PLACING_SHARE, 0.2)
    times = []
    while (time_s := part.solve_s()) is not None:
        times.append(time_s)
        clock.now += time_s
    assert times == [0.2] * SURE_SOLVES
