"""What is expected of a moment, and of metrics, against what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.scenario.check import CheckResult, OptimizerRecord
from stowage_testbed.scenario.check_moment import Moment, check_metrics, check_moment
from stowage_testbed.scenario.expectations import (
    Bounds,
    ExpectedMoment,
    ExpectedObject,
    ExpectedOptimizer,
    ExpectedState,
    MetricBound,
)

STATE = ClusterState(
    (NodeState("n1", 4000, 4 * 10**9),),
    (PodState("web", "n1", 100, 10**9), PodState("db", None, 100, 10**9)),
)
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
    expect: ExpectedMoment, objects: Mapping[str, Any] | None = None
) -> dict[str, CheckResult]:
    there = {"peak": PEAK} if objects is None else objects
    plans = OptimizerRecord(solves=1, moves=2, evictions=0, optimal=True)
    moment = Moment(STATE, plans, there, WORKLOADS)
    return {one.name: one for one in check_moment(expect, moment, 1e-6)}


def of_peak(**wanted: Any) -> CheckResult:
    results = results_of(ExpectedMoment(objects={"peak": ExpectedObject(**wanted)}))
    (result,) = results.values()
    return result


def test_a_plan_in_another_phase_is_a_failed_check() -> None:
    """Nothing may be left open: what is not named is not there."""
    expect = ExpectedMoment(ExpectedOptimizer(phases={"Completed": 1, "Failed": 0}))

    def passed(**phases: int) -> bool:
        record = OptimizerRecord(1, 2, 0, optimal=True, phases=phases)
        (result,) = check_moment(expect, Moment(STATE, record), 1e-6)
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
        ({"allocated": {"memory": 10**9}}, {"allocated": {"memory": 2 * 10**9}}),
        ({"allocated": {"cpu": 100}}, {"allocated": {"cpu": 1000}}),
        ({"status": {"used": 3}}, {"status": {"used": 4}}),
        ({"status": {"used": 3}}, {"status": {"unused": 3}}),
    ],
)
def test_each_word_of_an_object_can_hold_and_can_fail(
    wanted: dict[str, Any], wrong: dict[str, Any]
) -> None:
    """A check that cannot fail shows nothing."""
    assert of_peak(**wanted).passed
    assert not of_peak(**wrong).passed
    assert "peak" in of_peak(**wrong).message


def test_an_object_that_is_not_there_fails_what_is_expected_of_it() -> None:
    """Else a name that nobody ever creates would pass."""
    expect = ExpectedMoment(objects={"peak": ExpectedObject(phase="Available")})

    (result,) = results_of(expect, objects={}).values()

    assert not result.passed
    assert result.message == "peak is there: expected true, found false"


@pytest.mark.parametrize(("objects", "passed"), [({}, True), ({"peak": PEAK}, False)])
def test_an_object_can_be_expected_to_be_gone(
    objects: Mapping[str, Any], passed: bool
) -> None:
    """A reservation that is used up, or a plan that was taken back."""
    expect = ExpectedMoment(objects={"peak": ExpectedObject(there=False)})

    assert results_of(expect, objects)["peak is there"].passed is passed


def test_pods_and_plans_are_checked_beside_objects() -> None:
    """One moment, one set of words."""
    expect = ExpectedMoment(
        ExpectedOptimizer(
            ExpectedState(placed=Bounds(1, 1), pending={"db": 1}),
            moves=Bounds(0, 0),
            optimal=True,
        )
    )

    results = results_of(expect)

    assert {name: one.passed for name, one in results.items()} == {
        "placed": True, "pending": True, "moves": False, "optimal": True,
    }  # fmt: skip


BOUND = MetricBound("a laptop", 5, (0.5, 1.0), 2.0, maximum=2.0)


def test_a_metric_within_its_bound_passes() -> None:
    """Both ends belong to it."""
    (result,) = check_metrics({"t_s": BOUND}, {"t_s": 2.0})

    assert (result.name, result.passed, result.actual) == ("t_s", True, "2")


def test_a_broken_bound_says_where_it_comes_from() -> None:
    """It may be the bound that is wrong, on a machine like no other."""
    (result,) = check_metrics({"t_s": BOUND}, {"t_s": 2.1})

    assert not result.passed
    assert result.message == (
        "t_s: expected at most 2, found 2.1; the bound comes from 5 runs with 0.5 to 1 "
        "and a margin of 2 (a laptop)"
    )


def test_a_lower_bound_can_be_broken_too() -> None:
    """Throughput is better when it is higher."""
    bound = MetricBound("here", 5, (10.0, 12.0), 2.0, minimum=5.0)

    values = [next(check_metrics({"n": bound}, {"n": n})).passed for n in (5.0, 4.9)]

    assert values == [True, False]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"t_s": None}, "t_s: there is no value in this window"),
        ({"u_s": 1.0}, "no metric is called 't_s'; known are: u_s"),
        ({}, "no metric is called 't_s'; known are: none"),
    ],
)
def test_a_metric_without_a_value_does_not_keep_its_bound(
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
