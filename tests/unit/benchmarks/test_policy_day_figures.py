"""The figures of `make bench-policy`, and what a policy must reach."""

from __future__ import annotations

import pytest

from benchmarks.policy_day.benchmark import KILLED, POLICY, figures_of_days
from stowage_testbed.policyday.figures import ArmFigures, WindowFigures
from stowage_testbed.policyday.policy import read_policy
from stowage_testbed.policyday.screen import Tried
from stowage_testbed.text.figure import Figure


def make_arm(
    name: str,
    emptied: int,
    moves: int,
    *,
    most: int | None = 5,
    twice: int = 0,
    runs: int = 1,
) -> ArmFigures:
    window = WindowFigures(0, 3600, 20, 20 - emptied, emptied, most, moves, {}, runs)
    needed = moves / emptied if emptied else None
    return ArmFigures(
        name, 20, 480, 10**8, 0, emptied, moves, needed, {}, 0, twice, (window,)
    )


def measure(*arms: ArmFigures) -> dict[str, Figure]:
    day = Tried("bench", "seed 1", 24, 200, 3600, arms)
    return {one.name: one for one in figures_of_days([day])}


def test_a_policy_may_need_half_of_the_moves_of_the_descheduler() -> None:
    """Of the one on the same world: where pods are packed, fewer moves are enough."""
    found = measure(
        make_arm("policy", 5, 15),
        make_arm("high-node-utilization", 1, 40),
        make_arm("policy-most-allocated", 5, 15),
        make_arm("high-node-utilization-most-allocated", 4, 16),
    )

    spread = found["policy: moves for an emptied node"]
    packed = found["policy-most-allocated: moves for an emptied node"]
    assert (spread.value, spread.target, spread.met) == (3, "<= 20 moves", True)
    assert (packed.value, packed.target, packed.met) == (3, "<= 2 moves", False)


def test_without_any_node_of_the_deschedulers_there_is_no_such_target() -> None:
    """It moved pods in vain: no number of moves is half of that."""
    found = measure(make_arm("policy", 5, 15), make_arm("high-node-utilization", 0, 40))

    assert found["policy: moves for an emptied node"].target == ""


def test_a_window_may_empty_one_node_fewer_than_is_proved() -> None:
    """And only the policy is held to that."""
    worst = "nodes emptied in a window, beside the proved most"

    assert measure(make_arm("policy", 4, 9))[f"policy: {worst}"].met
    assert measure(make_arm("policy", 3, 9))[f"policy: {worst}"].met is False
    assert measure(make_arm("policy", 3, 9, most=None))[f"policy: {worst}"].met is None
    assert measure(make_arm("none", 0, 0))[f"none: {worst}"].met is None


def test_pods_moved_twice_are_counted_over_all_days() -> None:
    """One is too many."""
    found = measure(make_arm("policy", 4, 9, twice=1))

    assert found["policy: pods moved twice within the cool-down"].met is False


@pytest.mark.parametrize(("runs", "lost", "twice"), [(0, 1, 0), (1, 0, 0), (2, 0, 1)])
def test_a_window_that_is_lost_or_run_twice_is_counted(
    runs: int, lost: int, twice: int
) -> None:
    """With the scheduler killed in each as well."""
    found = measure(make_arm(KILLED, 4, 9, runs=runs))

    assert found[f"{KILLED}: windows lost"].value == lost
    assert found[f"{KILLED}: windows run twice"].value == twice


def test_the_policy_that_is_measured_is_one() -> None:
    """It is applied to nothing but the simulation, so nobody else would notice."""
    assert read_policy(POLICY).cool_down_s > 0
