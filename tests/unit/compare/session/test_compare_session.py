"""What a comparison says and does before any cluster is needed, and without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from burst_runs import BurstArm, a_burst_run

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.arms.registry import choose_arms
from stowage_testbed.compare.bundle import BundleFolder, read_bundle
from stowage_testbed.compare.session.beginning import begin_bundle
from stowage_testbed.compare.session.request import (
    CompareListener,
    CompareRequest,
    choose_scenario,
    make_turns,
    read_limits,
)
from stowage_testbed.compare.session.session import (
    compare,
    list_turns,
    select_remaining,
)
from stowage_testbed.run.arm import Arm
from stowage_testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[4] / "scenarios"
ARMS = ("first", "second")
FILE = """\
name: {name}
binary: {binary}
arguments: ["{{config}}", "{{port}}", "{{qps}}", "{{burst}}"]
configuration: "none"
schedulerName: {name}
ready: http://127.0.0.1:{{port}}/healthz
settings: {{version: v1, qps: {qps}, burst: 100}}
"""


def scenario(name: str, variant: str | None = None) -> Scenario:
    return choose_scenario(name, SCENARIOS, variant)


def arms(folder: Path, names: Sequence[str] = ARMS, qps: int = 50) -> tuple[Arm, ...]:
    """Return arms that need no tool; the first keeps to 50 requests a second."""
    binary = folder / "scheduler"
    if not binary.exists():
        binary.write_text("one build")
        binary.chmod(0o755)
    files = []
    for number, name in enumerate(names):
        files.append(folder / f"{name}.yaml")
        own_qps = qps if number else 50
        files[-1].write_text(FILE.format(name=name, binary=binary, qps=own_qps))
    return tuple(choose_arms([], files))


@pytest.fixture
def request_(tmp_path: Path) -> CompareRequest:
    return CompareRequest(
        scenario=scenario("burst/deployment-200", "small"),
        arms=arms(tmp_path),
        folder=tmp_path / "bundle",
        limits=read_limits("equal", 1000),
    )


def fill(bundle: BundleFolder, rounds: int) -> None:
    """Add the records of a comparison's runs as they would come."""
    rng = np.random.default_rng(1)
    for turn in make_turns(["equal"], ARMS, rounds, seed=1):
        arm = BurstArm(turn.arm, service_s=0.004 if turn.arm == ARMS[0] else 0.02)
        record = a_burst_run(rng, arm, turn.round_number, limits="equal", pods=40)
        bundle.add(replace(record, scenario_id="burst/deployment-200@small"))


def test_a_comparison_whose_runs_are_all_there_needs_no_cluster(
    request_: CompareRequest,
) -> None:
    """One that was killed between its last run and its verdicts is only judged."""
    fill(begin_bundle(request_), request_.rounds)

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
        ({"limits": read_limits("equal", 500)}, "settings of the arms"),
        ({"scenario": scenario("burst/deployment-200")}, "parameters"),
        ({"warm_up": 0}, "pods for warming up"),
    ],
)
def test_another_comparison_in_the_folder_is_left_alone(
    request_: CompareRequest, changed: dict[str, object], differs: str
) -> None:
    """Runs of two worlds in one table would be worth nothing."""
    begin_bundle(request_)
    before = (request_.folder / "compare.json").read_bytes()

    with pytest.raises(InputError, match=differs):
        compare(replace(request_, **changed), CompareListener())  # type: ignore[arg-type]

    assert (request_.folder / "compare.json").read_bytes() == before


def test_other_arms_and_builds_are_another_comparison(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """Old figures must not pass for those of a scheduler that has changed.

    The first arm is the baseline, so that the order counts too.
    """
    begin_bundle(request_)
    with pytest.raises(InputError, match="arms"):
        begin_bundle(replace(request_, arms=arms(tmp_path, ARMS[::-1])))
    (tmp_path / "scheduler").write_text("another build")

    with pytest.raises(InputError, match="builds of the arms"):
        begin_bundle(request_)


def test_a_round_that_is_not_whole_is_run_again(request_: CompareRequest) -> None:
    """Its runs are a pair: with a failed one, or one of last week, there is none."""
    bundle = begin_bundle(request_)
    fill(bundle, request_.rounds)
    todo = list(make_turns(["equal"], ARMS, request_.rounds, seed=1))
    failed = next(turn for turn in todo if turn.round_number == 2)
    record = next(
        one
        for one in read_bundle(request_.folder).records
        if (one.round_number, one.arm) == (2, failed.arm)
    )
    bundle.add(replace(record, error="the disk was full"))

    left = select_remaining(todo, BundleFolder.resume(request_.folder).done)

    assert [turn.round_number for turn in left] == [2, 2]
    assert select_remaining(todo, frozenset(turn.key for turn in todo)) == []


def test_more_rounds_may_be_asked_for_later(request_: CompareRequest) -> None:
    """Three rounds show little; the first three are kept."""
    fill(begin_bundle(replace(request_, rounds=2)), 3)

    result = compare(replace(request_, rounds=3), CompareListener())

    assert result.comparison.rounds == 3
    assert len(result.records) == 6


class CountedClock:
    """A clock that goes on by a second whenever it is asked."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        self.seconds += 1.0
        return self.seconds

    def pause(self, seconds: float) -> None:
        raise AssertionError(seconds)


def rounds_until_decided(request: CompareRequest, service_s: float) -> list[int]:
    """Return the rounds that are begun, where the second arm takes so long for a pod.

    Each run is there as soon as it is asked for.
    """
    bundle, rng = begin_bundle(request), np.random.default_rng(1)
    begun = []
    for turn in list_turns(request, bundle, CompareListener(), CountedClock()):
        begun.append(turn.round_number)
        arm = BurstArm(turn.arm, 0.004 if turn.arm == ARMS[0] else service_s)
        record = a_burst_run(rng, arm, turn.round_number, limits="equal", pods=120)
        bundle.add(replace(record, scenario_id="burst/deployment-200@small"))
    return begun


def test_rounds_end_when_every_headline_is_decided(request_: CompareRequest) -> None:
    """The first look comes after the fourth round."""
    asked = replace(request_, time_s=1000.0)

    begun = rounds_until_decided(asked, 0.2)

    assert 4 <= max(begun) < 50
    result = compare(asked, CompareListener(), CountedClock())
    assert result.comparison.rounds == max(begun)
    (judged,) = result.verdicts
    assert judged.open == ()
    assert judged.headlines[0].outcome == "worse"


def test_no_round_begins_when_the_time_is_over(request_: CompareRequest) -> None:
    """Of an arm and itself there is nothing to decide; a round under way is ended."""
    begun = rounds_until_decided(replace(request_, time_s=6.0), 0.004)

    assert begun == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_runs_that_fail_are_not_waited_for(request_: CompareRequest) -> None:
    """A scheduler that never starts would take the whole time."""
    asked = replace(request_, time_s=1000.0)
    bundle, begun = begin_bundle(asked), []
    for turn in list_turns(asked, bundle, CompareListener(), CountedClock()):
        begun.append(turn.round_number)
        record = a_burst_run(
            np.random.default_rng(1), BurstArm(turn.arm), turn.round_number,
            limits="equal", pods=40,
        )  # fmt: skip
        bundle.add(replace(record, error="" if turn.arm == ARMS[0] else "ended"))

    assert max(begun) == 4


def test_looks_cannot_be_added_later(request_: CompareRequest) -> None:
    """The error of the first look is spent; more rounds until it shows would cheat."""
    begin_bundle(request_)

    with pytest.raises(InputError, match="looks at the rounds"):
        begin_bundle(replace(request_, time_s=60.0))


def test_arms_that_differ_in_what_decides_are_refused(
    request_: CompareRequest, tmp_path: Path
) -> None:
    """Nothing is begun, and the message says what differs and how to go on.

    What is allowed all the same is in the table of settings for ever.
    """
    unfair = replace(
        request_,
        arms=arms(tmp_path, qps=1000),
        limits=read_limits("own", 1000),
    )

    with pytest.raises(InputError, match="client QPS: first 50, second 1000"):
        compare(unfair, CompareListener())

    assert not unfair.folder.exists()
    allowed = begin_bundle(replace(unfair, allow_unfair=True)).comparison
    assert {row.setting for row in allowed.preflight if not row.fair} >= {"client QPS"}


def test_a_scenario_that_measures_nothing_is_refused(request_: CompareRequest) -> None:
    unmeasured = replace(request_, scenario=scenario("nodes/replacement"))

    with pytest.raises(InputError, match="measure: start"):
        compare(unmeasured, CompareListener())


def test_an_overload_measures_by_itself(request_: CompareRequest) -> None:
    """Its HOLD is the window."""
    made = begin_bundle(replace(request_, scenario=scenario("hpa/recovery")))

    assert made.comparison.scenario.scenario_id == "hpa/recovery"
