"""What a comparison says and does before any cluster is needed, and without one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from burst_runs import BurstArm, a_burst_run
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.compare.arms import choose_arms
from stowage_testbed.compare.arms.file_arm import FileArm
from stowage_testbed.compare.arms.serving import Arm
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.compare.comparison import Bundle, PreflightRow, Turn, read_bundle
from stowage_testbed.compare.request import (
    CompareListener,
    CompareRequest,
    choose_scenario,
    make_default_folder_name,
    make_turns,
    read_limits,
    read_time,
    split_words,
)
from stowage_testbed.compare.session import (
    begin_bundle,
    compare,
    compare_settings,
    explain_refusal,
    list_turns,
    select_remaining,
)
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.scenario.model import Scenario

SCENARIOS = Path(__file__).parents[3] / "scenarios"
BURST = "burst/deployment-200"
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
    files = [folder / f"{name}.yaml" for name in names]
    for number, (name, file) in enumerate(zip(names, files, strict=True)):
        own_qps = qps if number else 50
        file.write_text(FILE.format(name=name, binary=binary, qps=own_qps))
    return tuple(choose_arms([], files))


@pytest.fixture
def request_(tmp_path: Path) -> CompareRequest:
    return CompareRequest(
        scenario=scenario(BURST, "small"), arms=arms(tmp_path), folder=tmp_path / "bundle", limits=read_limits("equal")
    )


def test_words_of_the_command_line_are_read_in_their_order() -> None:
    """A time has its unit; a name means the scenario without its variants."""
    limits, small = read_limits("equal,own"), scenario(BURST, "small")

    assert split_words(" default, stowage,,") == ["default", "stowage"]
    assert [read_time(text) for text in ("90s", "20m", "1h")] == [90, 1200, 3600]
    assert list(limits.items()) == [("equal", ClientLimits(1000, 1000)), ("own", None)]
    assert scenario(BURST).scenario_id == BURST
    assert small.scenario_id == f"{BURST}@small"
    assert make_default_folder_name(small).name == "burst-deployment-200-small"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no scenario is called 'nowhere'"),
        (["burst/*"], "compare one at a time"),
        ([BURST, "--arms", "kube"], "there is no arm 'kube'"),
        ([BURST, "--arms", "default,default"], "default"),
        ([BURST, "--arms", ""], "nothing to compare"),
        ([BURST, "--limits", "mine"], "neither `own`"),
        ([BURST, "--limits", ","], "neither `own`"),
        ([BURST, "--arm-file", "mine.yaml"], "mine.yaml"),
        ([BURST, "--variant", "huge"], "huge"),
        ([BURST, "--until-decided", "0m"], "20m"),
        ([BURST, "--until-decided", "1h", "--repeat", "3"], "exclude each other"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: list[str], said: str) -> None:
    """Exit code 2, the cause and a way out; no cluster is made for it."""
    found = CliRunner().invoke(app, ["compare", *arguments])

    assert found.exit_code == 2, found.output
    assert said in found.output.replace("\n", " ")


THREE, BOTH = ["default", "stowage", "koordinator"], ["own", "equal"]


def test_every_arm_runs_once_a_round_and_none_has_a_place_of_its_own() -> None:
    """Rounds are pairs, and whoever always came first would find the quiet machine."""
    found = list(make_turns(BOTH, THREE, 4, seed=1))
    turns = list(make_turns(["own"], THREE, 3, seed=1))
    places = {(number % 3, turn.arm) for number, turn in enumerate(turns)}
    orders = {seed: list(make_turns(BOTH, THREE, 2, seed)) for seed in range(20)}

    assert len(set(found)) == len(found) == 24
    assert found == sorted(found, key=lambda turn: turn.round_number)
    assert len(places) == len(turns) == 9
    # An interrupted comparison is resumed as it would have gone on.
    assert orders[3] == list(make_turns(BOTH, THREE, 2, 3))
    assert {order[0].arm for order in orders.values()} == set(THREE)


SAME = ArmSettings("v1", 50, 100, 16, None, {"Batching": False})


def preflight(**changes: Any) -> tuple[PreflightRow, ...]:
    """Check an arm and one that differs in some settings."""
    return compare_settings({"a": SAME, "b": replace(SAME, **changes)})


@pytest.mark.parametrize(
    ("row", "changes", "a", "b"),
    [
        ("client QPS", {"qps": 1000}, "50", "1000"),
        ("client QPS", {"qps": None}, "50", "no limit"),
        ("client burst", {"burst": 1000}, "100", "1000"),
        ("parallelism", {"parallelism": 1}, "16", "1"),
        ("nodes scored", {"sampled_percent": 100}, "adaptive", "100 %"),
        ("feature gate Batching", {"feature_gates": {"Batching": True}}, "off", "on"),
        ("feature gate Batching", {"feature_gates": {}}, "off", "not told"),
        ("webhooks", {"webhooks": ("x/y",)}, "none", "x/y"),
    ],
)
def test_a_difference_that_could_explain_a_result_is_refused(row: str, changes: dict[str, Any], a: str, b: str) -> None:
    """Each of them alone can outweigh what the schedulers differ by.

    Versions are what is compared, and who cannot be given a setting has none. An arm
    against itself is how the statistics are tried.
    """
    (unfair,) = (one for one in preflight(**changes) if not one.fair)
    other, without = preflight(version="v2"), preflight(parallelism=None)

    assert (unfair.setting, unfair.values) == (row, {"a": a, "b": b})
    assert not any(one.differs for one in preflight())
    for rows in (preflight(), compare_settings({"a": SAME}), other, without):
        assert not explain_refusal(rows)
    assert other[0].differs
    assert {one.setting: one.values["b"] for one in without}["parallelism"] == "-"


def test_a_refusal_names_each_difference_and_the_ways_out(request_: CompareRequest, tmp_path: Path) -> None:
    """What is allowed all the same is in the table of settings for ever."""
    words = explain_refusal(preflight(qps=1000, burst=2000))
    said = ("client QPS: a 50, b 1000", "client burst: a 100, b 2000")
    assert all(one in words for one in (*said, "--limits equal", "--allow-unfair"))
    own = read_limits("own")
    unfair = replace(request_, arms=arms(tmp_path, qps=1000), limits=own)

    with pytest.raises(InputError, match="client QPS: first 50, second 1000"):
        compare(unfair, CompareListener())

    assert not unfair.folder.exists()
    allowed = begin_bundle(replace(unfair, allow_unfair=True)).comparison
    assert {row.setting for row in allowed.preflight if not row.fair} >= {"client QPS"}


def test_an_arms_own_gate_must_be_one_that_its_scheduler_has(request_: CompareRequest) -> None:
    """Left out without a word, the arm would be compared as what it is not."""
    first, second = request_.arms
    assert isinstance(second, FileArm)
    gates = make_gates({"GenericWorkload": True})
    asked = replace(request_, arms=(first, replace(second, features=gates)))

    with pytest.raises(InputError, match="the scheduler of arm second has no feature gate GenericWorkload"):
        begin_bundle(asked)
    begin_bundle(replace(asked, scenario=replace(request_.scenario, features=gates)))


def test_a_scenario_must_have_a_window_or_an_overload(request_: CompareRequest) -> None:
    """There is nothing to compare otherwise; an overload's HOLD is the window."""
    made = begin_bundle(replace(request_, scenario=scenario("hpa/recovery")))

    assert made.comparison.scenario.scenario_id == "hpa/recovery"
    with pytest.raises(InputError, match="measure: start"):
        begin_bundle(replace(request_, scenario=scenario("nodes/replacement")))


def a_run(rng: np.random.Generator, turn: Turn, slow_s: float, pods: int) -> RunRecord:
    """Return the record of a turn; the second arm takes so long for a pod."""
    arm = BurstArm(turn.arm, service_s=0.004 if turn.arm == ARMS[0] else slow_s)
    record = a_burst_run(rng, arm, turn.round_number, limits="equal", pods=pods)
    return replace(record, scenario_id=f"{BURST}@small")


def fill(bundle: Bundle, rounds: int) -> None:
    """Add the records of a comparison's runs as they would come."""
    rng = np.random.default_rng(1)
    for turn in make_turns(["equal"], ARMS, rounds, seed=1):
        bundle.add(a_run(rng, turn, 0.02, pods=40))


def test_a_comparison_whose_runs_are_all_there_needs_no_cluster(request_: CompareRequest) -> None:
    """One that was killed before its verdicts is only judged.

    Three rounds show little: more may be asked for later, and those there are kept.
    """
    fill(begin_bundle(replace(request_, rounds=2)), 3)

    result = compare(replace(request_, rounds=3), CompareListener())

    assert result.complete
    assert (result.rounds, len(result.records)) == (3, 6)
    (judged,) = result.verdicts
    found = {verdict.name: verdict.outcome for verdict in judged.verdicts}
    assert found["t_sched_mean_s"] == "worse"


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ({"seed": 2}, "seeds"),
        ({"limits": {"equal": ClientLimits(500, 500)}}, "settings of the arms"),
        ({"scenario": scenario(BURST)}, "parameters"),
        ({"warm_up": 0}, "pods for warming up"),
        # The error of the first look is spent: more rounds until it shows would cheat.
        ({"time_s": 60.0}, "looks at the rounds"),
        # The first arm is the baseline.
        ({"arms": ARMS[::-1]}, "arms"),
        ({"arms": ARMS, "build": "another build"}, "builds of the arms"),
    ],
)
def test_another_comparison_in_the_folder_is_left_alone(
    request_: CompareRequest, tmp_path: Path, changed: dict[str, Any], differs: str
) -> None:
    """Runs of two worlds in one table would be worth nothing."""
    begin_bundle(request_)
    before = (request_.folder / "compare.json").read_bytes()
    if "arms" in changed:
        (tmp_path / "scheduler").write_text(changed.get("build", "one build"))
        changed = {"arms": arms(tmp_path, changed["arms"])}

    with pytest.raises(InputError, match=differs):
        compare(replace(request_, **changed), CompareListener())

    assert (request_.folder / "compare.json").read_bytes() == before


def test_a_round_that_is_not_whole_is_run_again(request_: CompareRequest) -> None:
    """Its runs are a pair: with a failed one, or one of last week, there is none."""
    bundle = begin_bundle(request_)
    fill(bundle, request_.rounds)
    todo = list(make_turns(["equal"], ARMS, request_.rounds, seed=1))
    record = next(one for one in read_bundle(request_.folder).records if one.round_number == 2)
    bundle.add(replace(record, error="the disk was full"))

    left = select_remaining(todo, Bundle.resume(request_.folder).done)

    assert [turn.round_number for turn in left] == [2, 2]
    assert select_remaining(todo, frozenset(todo)) == []


def counted_clock() -> Any:
    """Return a clock that goes on by a second whenever it is asked."""
    return SimpleNamespace(now=count(1.0).__next__)


def begun_rounds(request: CompareRequest, slow_s: float = 0.004, error: str = "") -> list[int]:
    """Return the rounds that are begun, each run there as soon as it is asked for.

    The second arm takes so long for a pod, and its runs end with the error.
    """
    bundle, rng = begin_bundle(request), np.random.default_rng(1)
    begun = []
    for turn in list_turns(request, bundle, CompareListener(), counted_clock()):
        begun.append(turn.round_number)
        record = a_run(rng, turn, slow_s, pods=120)
        bundle.add(replace(record, error=error if turn.arm != ARMS[0] else ""))
    return begun


def test_rounds_end_when_every_headline_is_decided(request_: CompareRequest) -> None:
    """The first look comes after the fourth round."""
    asked = replace(request_, time_s=1000.0)

    begun = begun_rounds(asked, 0.2)

    assert 4 <= max(begun) < 50
    result = compare(asked, CompareListener(), counted_clock())
    assert result.rounds == max(begun)
    (judged,) = result.verdicts
    assert judged.open == ()
    assert judged.headlines[0].outcome == "worse"


def test_rounds_end_with_the_time_and_with_an_arm_that_never_starts(request_: CompareRequest, tmp_path: Path) -> None:
    """Of an arm and itself there is nothing to decide; a round under way is ended."""
    failing = replace(request_, time_s=1000.0, folder=tmp_path / "failing")

    begun = begun_rounds(replace(request_, time_s=6.0))

    assert begun == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert max(begun_rounds(failing, error="ended")) == 4
