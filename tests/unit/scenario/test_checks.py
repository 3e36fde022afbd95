from dataclasses import replace

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.scenario.check import (
    CheckResult,
    OptimizerRecord,
    check_deterministic,
    check_optimizer,
)
from stowage_testbed.scenario.expectations import (
    Bounds,
    Expectations,
    ExpectedOptimizer,
    ExpectedState,
)
from stowage_testbed.scenario.model import Scenario

GB = 10**9
GOOD_RECORD = OptimizerRecord(solves=1, moves=1, evictions=0, optimal=True)


def a_state(first: str | None, second: str | None, third: str | None) -> ClusterState:
    """Return the pods of Figure 1 on two nodes."""
    return ClusterState(
        nodes=(NodeState("node-0", 4000, 4 * GB), NodeState("node-1", 4000, 4 * GB)),
        pods=(
            PodState("first", first, 100, 2 * GB),
            PodState("second", second, 100, 2 * GB),
            PodState("third", third, 100, 3 * GB, priority=1),
        ),
    )


BEFORE = a_state("node-0", "node-1", None)
AFTER = a_state("node-1", "node-1", "node-0")


def expecting(
    before: ExpectedState | None = None, after: ExpectedOptimizer | None = None
) -> Scenario:
    """Return a scenario that expects this and nothing else."""
    expect = Expectations(before or ExpectedState(), after or ExpectedOptimizer())
    return Scenario("a/b", "a test", nodes=(), workload=(), expect=expect)


def only(results: tuple[CheckResult, ...], name: str) -> CheckResult:
    """Return the one result of a name."""
    (found,) = [result for result in results if result.name == name]
    return found


def test_nothing_expected_is_nothing_checked() -> None:
    """A scenario may look at one half of a run only."""
    assert check_deterministic(expecting(), BEFORE) == ()


def test_each_expectation_of_a_state_is_one_result() -> None:
    """A table shows one line each, so that a failure names its cause."""
    expected = ExpectedState(
        placed=Bounds(2, 2),
        pending={"third": 1},
        placements={"first": ("node-0",)},
        groups=(("first",), ("second",)),
        placed_by_priority={1: Bounds(0, 0), 0: Bounds(1, None)},
        utilisation={"cpu": 0.025, "memory": 0.5},
        pods_per_node=Bounds(1, 1),
    )

    results = check_deterministic(expecting(expected), BEFORE)

    assert all(result.passed for result in results)
    assert [result.name for result in results] == [
        "placed",
        "pending",
        "placements of first",
        "groups",
        "placed of priority 1",
        "placed of priority 0",
        "utilisation of cpu",
        "utilisation of memory",
        "pods_per_node",
    ]


def test_a_failed_check_says_what_was_expected_and_found() -> None:
    """Nobody should have to rerun to learn by how much it missed."""
    expected = ExpectedState(placed=Bounds(3, None), pending={})

    results = check_deterministic(expecting(expected), BEFORE)

    assert [result.message for result in results] == [
        "placed: expected at least 3, found 2",
        "pending: expected {}, found {third: 1}",
    ]


def test_a_workload_that_is_not_named_must_not_be_pending() -> None:
    """`pending` is exhaustive: a surprise must not hide behind a known loss."""
    expected = ExpectedState(pending={"third": 1})
    state = a_state(None, "node-1", None)

    (result,) = check_deterministic(expecting(expected), state)

    assert result.actual == "{first: 1, third: 1}"
    assert not result.passed


def test_uneven_nodes_are_named() -> None:
    """With forty nodes the range alone does not tell where to look."""
    expected = ExpectedState(pods_per_node=Bounds(1, 1))
    state = a_state("node-0", "node-0", None)

    (result,) = check_deterministic(expecting(expected), state)

    assert result.actual == "0 to 2 {node-0: 2, node-1: 0}"


def test_utilisation_is_compared_within_the_tolerance() -> None:
    """A published figure is rounded; the tolerance says how far."""
    scenario = expecting(ExpectedState(utilisation={"memory": 0.501}))
    loose = replace(scenario, expect=replace(scenario.expect, tolerance=0.001))

    assert not check_deterministic(scenario, BEFORE)[0].passed
    assert check_deterministic(loose, BEFORE)[0].passed


def test_the_optimiser_is_checked_for_moves_certificate_and_delta() -> None:
    """Figure 1 of the paper, right: one move, everything placed, proved."""
    expected = ExpectedOptimizer(
        state=ExpectedState(groups=(("first", "second"), ("third",))),
        moves=Bounds(1, 1),
        evictions=Bounds(0, 0),
        optimal=True,
        solves=Bounds(1, 1),
        utilisation_delta={"cpu": 0.0125, "memory": 0.375},
    )

    results = check_optimizer(expecting(after=expected), BEFORE, AFTER, GOOD_RECORD)

    assert all(result.passed for result in results), results
    assert only(results, "optimal").actual == "true"
    assert only(results, "utilisation_delta of memory").actual == "0.375"


def test_a_result_that_is_not_proved_fails_where_a_proof_is_expected() -> None:
    """A time limit that is too short must not pass for a certificate."""
    unproved = replace(GOOD_RECORD, optimal=False)
    expected = ExpectedOptimizer(optimal=True)

    results = check_optimizer(expecting(after=expected), BEFORE, AFTER, unproved)

    assert only(results, "optimal").message == "optimal: expected true, found false"


def test_a_loss_is_found_even_where_nothing_is_expected() -> None:
    """The promise of every plan: no priority is worse off than before."""
    results = check_optimizer(expecting(), AFTER, BEFORE, GOOD_RECORD)

    assert only(results, "not_worse").message == (
        "not_worse: expected at least {0: 2, 1: 1}, found {0: 2, 1: 0}"
    )


def test_bounds_are_printed_as_people_say_them() -> None:
    """They stand in tables and messages."""
    shown = [str(b) for b in (Bounds(2, 2), Bounds(2), Bounds(None, 3), Bounds(1, 3))]
    assert shown == ["2", "at least 2", "at most 3", "1 to 3"]
