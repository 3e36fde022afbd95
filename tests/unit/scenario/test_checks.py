"""What is expected of a moment, and of metrics, against what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from amounts import GPU, asked, size, taken

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.scenario.check import (
    CheckResult,
    Moment,
    OptimizerRecord,
    check_metrics,
    check_moment,
)
from stowage_testbed.scenario.expectations import MetricBound
from stowage_testbed.scenario.expected_moment import (
    Bounds,
    ExpectedMoment,
    ExpectedObject,
)

GB = 10**9
GOOD_RECORD = OptimizerRecord(solves=1, moves=1, evictions=0, optimal=True)


def a_state(first: str | None, second: str | None, third: str | None) -> ClusterState:
    """Return the pods of Figure 1 on two nodes."""
    return ClusterState(
        nodes=(
            NodeState("node-0", size(4000, 4 * GB)),
            NodeState("node-1", size(4000, 4 * GB)),
        ),
        pods=(
            PodState("first", first, taken(100, 2 * GB)),
            PodState("second", second, taken(100, 2 * GB)),
            PodState("third", third, taken(100, 3 * GB), priority=1),
        ),
    )


BEFORE = a_state("node-0", "node-1", None)
AFTER = a_state("node-1", "node-1", "node-0")
PEAK: Mapping[str, Any] = {
    "metadata": {"name": "peak"},
    "status": {
        "phase": "Available",
        "nodeName": "n1",
        "allocated": {"memory": "1G", "cpu": "0.1"},
        "currentOwners": [{"name": "web-1"}, {"name": "web-2"}, {"name": "db-1"}],
        "used": 3,
    },
}
WORKLOADS = {"web-1": "web", "web-2": "web", "db-1": "db"}


def results_of(
    expect: ExpectedMoment, state: ClusterState = BEFORE, **moment: Any
) -> dict[str, CheckResult]:
    found = Moment(state, **({"plans": GOOD_RECORD} | moment))
    return {one.name: one for one in check_moment(expect, found, 1e-6)}


def of_peak(expect: ExpectedObject, peak: Mapping[str, Any] | None) -> CheckResult:
    """Return what is found of an object that is there, or of one that is not."""
    there = {} if peak is None else {"peak": peak}
    moment = ExpectedMoment(objects={"peak": expect})
    (result,) = results_of(moment, objects=there, workload_of=WORKLOADS).values()
    return result


def test_each_expectation_is_one_result() -> None:
    """A table shows one line each, so that a failure names its cause."""
    expected = ExpectedMoment(
        placed=Bounds(2, 2),
        pending={"third": 1},
        placements={"first": ("node-0",)},
        groups=(("first",), ("second",)),
        placed_by_priority={1: Bounds(0, 0), 0: Bounds(1, None)},
        utilisation={"cpu": 0.025, "memory": 0.5},
        pods_per_node=Bounds(1, 1),
        moves=Bounds(1, 1),
        evictions=Bounds(0, 0),
        solves=Bounds(1, 1),
        phases={},
        optimal=True,
    )

    results = results_of(expected)

    assert all(result.passed for result in results.values())
    assert list(results) == [
        "placed",
        "pending",
        "placements of first",
        "groups",
        "placed of priority 1",
        "placed of priority 0",
        "utilisation of cpu",
        "utilisation of memory",
        "pods_per_node",
        "moves",
        "evictions",
        "solves",
        "phases of plans",
        "optimal",
    ]
    assert results_of(ExpectedMoment()) == {}


@pytest.mark.parametrize(
    ("expected", "state", "message"),
    [
        ({"placed": Bounds(3)}, BEFORE, "placed: expected at least 3, found 2"),
        # A workload that is not named must not be pending.
        ({"pending": {}}, BEFORE, "pending: expected {}, found {third: 1}"),
        (
            {"pending": {"third": 1}},
            a_state(None, "node-1", None),
            "pending: expected {third: 1}, found {first: 1, third: 1}",
        ),
        # With forty nodes the range alone does not tell where to look.
        (
            {"pods_per_node": Bounds(1, 1)},
            a_state("node-0", "node-0", None),
            "pods_per_node: expected 1, found 0 to 2 {node-0: 2, node-1: 0}",
        ),
        ({"moves": Bounds(0, 0)}, BEFORE, "moves: expected 0, found 1"),
        # A time limit that is too short must not pass for a certificate.
        ({"optimal": False}, BEFORE, "optimal: expected false, found true"),
    ],
)
def test_a_failed_check_says_what_was_expected_and_found(
    expected: dict[str, Any], state: ClusterState, message: str
) -> None:
    """Nobody should have to rerun to learn by how much it missed."""
    (result,) = results_of(ExpectedMoment(**expected), state).values()

    assert not result.passed
    assert result.message == message


def test_utilisation_of_any_resource_can_be_expected() -> None:
    """The message names the resource, and says if nobody has any."""
    state = ClusterState(
        nodes=(NodeState("a", size(1, 1, more={GPU: 4})), NodeState("b", size(1, 1))),
        pods=(PodState("w", "a", taken(1, 1, {GPU: 3})),),
    )

    results = results_of(
        ExpectedMoment(utilisation={GPU: 0.75, "x.io/fpga": 0.5}), state
    )

    assert results[f"utilisation of {GPU}"].passed
    assert results["utilisation of x.io/fpga"].message == (
        "utilisation of x.io/fpga: expected 0.5, found 0, for no node has any"
    )


def test_utilisation_is_compared_within_the_tolerance() -> None:
    """A published figure is rounded; the tolerance says how far."""
    expect, moment = ExpectedMoment(utilisation={"memory": 0.501}), Moment(BEFORE)

    assert not next(check_moment(expect, moment, 1e-6)).passed
    assert next(check_moment(expect, moment, 0.001)).passed


def test_the_second_half_is_compared_with_the_first() -> None:
    """Figure 1 of the paper, right: one move, everything placed, proved."""
    expected = ExpectedMoment(
        groups=(("first", "second"), ("third",)),
        utilisation_delta={"cpu": 0.0125, "memory": 0.375},
    )

    results = results_of(expected, AFTER, before=BEFORE)

    assert all(result.passed for result in results.values()), results
    assert results["utilisation_delta of memory"].actual == "0.375"


def test_a_loss_is_found_even_where_nothing_is_expected() -> None:
    """The promise of every plan: no priority is worse off than before."""
    results = results_of(ExpectedMoment(), BEFORE, before=AFTER)

    assert results["not_worse"].message == (
        "not_worse: expected at least {0: 2, 1: 1}, found {0: 2, 1: 0}"
    )


def test_bounds_are_printed_as_people_say_them() -> None:
    """They stand in tables and messages."""
    shown = [str(b) for b in (Bounds(2, 2), Bounds(2), Bounds(None, 3), Bounds(1, 3))]
    assert shown == ["2", "at least 2", "at most 3", "1 to 3"]


def test_a_plan_in_another_phase_is_a_failed_check() -> None:
    """Nothing may be left open: what is not named is not there."""
    expect = ExpectedMoment(phases={"Completed": 1, "Failed": 0})

    def passed(**phases: int) -> bool:
        plans = replace(GOOD_RECORD, phases=phases)
        (result,) = results_of(expect, plans=plans).values()
        return result.passed

    assert passed(Completed=1)
    assert not passed(Completed=1, Executing=1)
    assert not passed(Completed=2)


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [
        ({"phase": "Available"}, {"phase": "Waiting"}),
        ({"node_name": "n1"}, {"node_name": "n2"}),
        ({"owners": {"web": 2, "db": 1, "x": 0}}, {"owners": {"web": 2}}),
        ({"allocated": asked(0, 10**9)}, {"allocated": asked(0, 2 * 10**9)}),
        ({"allocated": asked(100, 0)}, {"allocated": asked(100, 0, {GPU: 1})}),
        ({"has": {"status": {"used": 3}}}, {"has": {"status": {"used": 4}}}),
        ({"has": {"status": {"used": 3}}}, {"has": {"status": {"unused": 3}}}),
    ],
)
def test_each_word_of_an_object_can_hold_and_can_fail(
    wanted: dict[str, Any], wrong: dict[str, Any]
) -> None:
    """A check that cannot fail shows nothing."""
    assert of_peak(ExpectedObject(**wanted), PEAK).passed
    failed = of_peak(ExpectedObject(**wrong), PEAK)
    assert not failed.passed
    assert "peak" in failed.message


@pytest.mark.parametrize(
    ("expect", "peak", "message"),
    [
        # Else a name that nobody ever creates would pass.
        (ExpectedObject(phase="Available"), None, "expected true, found false"),
        # A reservation that is used up, or a plan that was taken back.
        (ExpectedObject(there=False), PEAK, "expected false, found true"),
        (ExpectedObject(there=False), None, ""),
    ],
)
def test_an_object_is_there_or_not_as_expected(
    expect: ExpectedObject, peak: Mapping[str, Any] | None, message: str
) -> None:
    result = of_peak(expect, peak)

    assert result.passed is not bool(message)
    assert result.message == (message and f"peak is there: {message}")


BOUND = MetricBound("a laptop", 5, (0.5, 1.0), 2.0, maximum=2.0)


def test_a_metric_within_its_bound_passes() -> None:
    """Both ends belong to it, and throughput is better when it is higher."""
    lower = MetricBound("here", 5, (10.0, 12.0), 2.0, minimum=5.0)
    (result,) = check_metrics({"t_s": BOUND}, {"t_s": 2.0})

    assert (result.name, result.passed, result.actual) == ("t_s", True, "2")
    assert next(check_metrics({"n": lower}, {"n": 5.0})).passed
    assert not next(check_metrics({"n": lower}, {"n": 4.9})).passed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        # It may be the bound that is wrong, on a machine like no other.
        (
            {"t_s": 2.1},
            "t_s: expected at most 2, found 2.1; the bound comes from 5 runs with 0.5 "
            "to 1 and a margin of 2 (a laptop)",
        ),
        ({"t_s": None}, "t_s: there is no value in this window"),
        ({"u_s": 1.0}, "no metric is called 't_s'; known are: u_s"),
        ({}, "no metric is called 't_s'; known are: none"),
    ],
)
def test_a_metric_beyond_its_bound_or_without_a_value_fails(
    values: dict[str, float | None], message: str
) -> None:
    """A measurement that failed must not look like a fast one."""
    (result,) = check_metrics({"t_s": BOUND}, values)

    assert not result.passed
    assert result.message == message


def test_why_there_is_no_value_is_reported() -> None:
    """A percentile of too few samples is no mistake of the author's spelling."""
    (result,) = check_metrics({"t_s": BOUND}, {"t_s": None}, {"t_s": "n is too small"})

    assert result.message == "t_s: n is too small"
