"""What a comparison says and does before any cluster is needed, and without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from burst_runs import BurstArm, a_burst_run

from testbed.compare.bundle import BundleFolder
from testbed.compare.catalogue import choose_arms
from testbed.compare.session.beginning import begun
from testbed.compare.session.choosing import limits_of, one_scenario
from testbed.compare.session.errors import (
    NothingMeasuredError,
    OtherComparisonError,
    UnfairArmsError,
)
from testbed.compare.session.listener import CompareListener
from testbed.compare.session.order import turns
from testbed.compare.session.request import CompareRequest
from testbed.compare.session.session import compare
from testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[4] / "scenarios"
ARMS = ("default", "stowage")


def scenario(name: str, variant: str | None = None) -> Scenario:
    return one_scenario(name, SCENARIOS, variant)


@pytest.fixture
def request_(tmp_path: Path) -> CompareRequest:
    return CompareRequest(
        scenario=scenario("burst/deployment-200", "small"),
        arms=tuple(choose_arms(ARMS)),
        folder=tmp_path / "bundle",
        limits=limits_of("equal", 1000),
    )


def fill(bundle: BundleFolder, rounds: int) -> None:
    """Add the records of a comparison's runs as they would come."""
    rng = np.random.default_rng(1)
    for turn in turns(["equal"], ARMS, rounds, seed=1):
        arm = BurstArm(turn.arm, service_s=0.004 if turn.arm == "default" else 0.02)
        record = a_burst_run(rng, arm, turn.round_number, limits="equal", pods=40)
        bundle.add(replace(record, scenario_id="burst/deployment-200@small"))


def test_a_comparison_whose_runs_are_all_there_needs_no_cluster(
    request_: CompareRequest,
) -> None:
    """One that was killed between its last run and its verdicts is only judged."""
    fill(begun(request_), request_.rounds)

    result = compare(request_, CompareListener())

    assert result.complete
    assert len(result.records) == 6
    (judged,) = result.verdicts
    found = {verdict.name: verdict.outcome for verdict in judged.verdicts}
    assert found["t_sched_mean_s"] == "worse"


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"seed": 2}, "seeds"),
        ({"limits": limits_of("equal", 500)}, "settings of the arms"),
        ({"arms": tuple(choose_arms(["stowage", "default"]))}, "arms"),
        ({"scenario": scenario("burst/deployment-200")}, "parameters"),
        ({"warm_up": 0}, "pods for warming up"),
    ],
)
def test_another_comparison_in_the_folder_is_left_alone(
    request_: CompareRequest, changed: dict[str, object], differs: str
) -> None:
    """Runs of two worlds in one table would be worth nothing."""
    begun(request_)
    before = (request_.folder / "compare.json").read_bytes()

    with pytest.raises(OtherComparisonError, match=differs):
        compare(replace(request_, **changed), CompareListener())  # type: ignore[arg-type]

    assert (request_.folder / "compare.json").read_bytes() == before


def test_more_rounds_may_be_asked_for_later(request_: CompareRequest) -> None:
    """Three rounds show little; the first three are kept."""
    fill(begun(replace(request_, rounds=2)), 3)

    result = compare(replace(request_, rounds=3), CompareListener())

    assert result.comparison.rounds == 3
    assert len(result.records) == 6


def test_arms_that_differ_in_what_decides_are_refused(request_: CompareRequest) -> None:
    """Nothing is begun, and the message says what differs and how to go on."""
    unfair = replace(
        request_,
        arms=tuple(choose_arms(["default", "yunikorn"])),
        limits=limits_of("own", 1000),
    )

    with pytest.raises(UnfairArmsError, match="client QPS: default 50, yunikorn 1000"):
        compare(unfair, CompareListener())

    assert not unfair.folder.exists()


def test_what_is_unfair_is_compared_when_it_is_asked_for(
    request_: CompareRequest,
) -> None:
    """And the table of settings says it for ever."""
    unfair = replace(
        request_,
        arms=tuple(choose_arms(["default", "yunikorn"])),
        limits=limits_of("own", 1000),
        allow_unfair=True,
    )

    made = begun(unfair).comparison

    assert {row.setting for row in made.preflight if not row.fair} >= {"client QPS"}


def test_a_scenario_that_measures_nothing_is_refused(request_: CompareRequest) -> None:
    unmeasured = replace(request_, scenario=scenario("nodes/replacement"))

    with pytest.raises(NothingMeasuredError, match="measure: start"):
        compare(unmeasured, CompareListener())


def test_an_overload_measures_by_itself(request_: CompareRequest) -> None:
    """Its HOLD is the window."""
    made = begun(replace(request_, scenario=scenario("hpa/recovery")))

    assert made.comparison.scenario.scenario_id == "hpa/recovery"
