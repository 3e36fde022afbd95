"""What is compared, from the command line to the order of the runs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.compare.session.request import (
    choose_scenario,
    make_default_folder_name,
    make_turns,
    read_limits,
    read_time,
    split_words,
)
from stowage_testbed.run.arm import ClientLimits

SCENARIOS = Path(__file__).parents[4] / "scenarios"


def test_lists_have_commas_and_may_have_spaces() -> None:
    assert split_words(" default, stowage,,") == ["default", "stowage"]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("20m", 1200), ("1h", 3600)]
)
def test_a_time_has_its_unit(text: str, seconds: float) -> None:
    """A bare number would be taken for minutes by one and for seconds by another."""
    assert read_time(text) == seconds


def test_limits_are_run_in_the_order_in_which_they_are_named() -> None:
    chosen = read_limits("equal,own", 500)

    assert list(chosen) == ["equal", "own"]
    assert chosen["equal"] == ClientLimits(500, 500)
    assert chosen["own"] is None


def test_a_name_means_the_scenario_without_its_variants() -> None:
    """They are other worlds: nobody means all of them at once."""
    plain = choose_scenario("burst/deployment-200", SCENARIOS, None)
    small = choose_scenario("burst/deployment-200", SCENARIOS, "small")

    assert plain.scenario_id == "burst/deployment-200"
    assert small.scenario_id == "burst/deployment-200@small"
    assert make_default_folder_name(small).name == "burst-deployment-200-small"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no scenario is called 'nowhere'"),
        (["burst/*"], "compare one at a time"),
        (["burst/deployment-200", "--arms", "kube"], "there is no arm 'kube'"),
        (["burst/deployment-200", "--arms", "default,default"], "default"),
        (["burst/deployment-200", "--arms", ""], "nothing to compare"),
        (["burst/deployment-200", "--limits", "mine"], "neither `own`"),
        (["burst/deployment-200", "--limits", ""], "neither `own`"),
        (["burst/deployment-200", "--limits", ","], "neither `own`"),
        (["burst/deployment-200", "--arm-file", "mine.yaml"], "mine.yaml"),
        (["burst/deployment-200", "--variant", "huge"], "huge"),
        (["burst/deployment-200", "--until-decided", "soon"], "20m"),
        (["burst/deployment-200", "--until-decided", "0m"], "20m"),
        (
            ["burst/deployment-200", "--until-decided", "1h", "--repeat", "3"],
            "exclude each other",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: list[str], said: str) -> None:
    """Exit code 2, the cause and a way out; no cluster is made for it."""
    found = CliRunner().invoke(app, ["compare", *arguments, "--folder", str(SCENARIOS)])

    assert found.exit_code == 2, found.output
    assert said in found.output.replace("\n", " ")


ARMS = ["default", "stowage", "koordinator"]
LIMITS = ["own", "equal"]


def test_every_arm_runs_once_a_round_under_each_kind_of_limits() -> None:
    """Pairs are made of the runs of one round."""
    found = list(make_turns(LIMITS, ARMS, 4, seed=1))

    assert len({turn.key for turn in found}) == len(found) == 24


def test_a_round_is_over_before_the_next_begins() -> None:
    """What is interrupted has whole rounds, which is what can be judged."""
    numbers = [turn.round_number for turn in make_turns(LIMITS, ARMS, 3, seed=1)]

    assert numbers == sorted(numbers)


def test_no_arm_has_a_place_of_its_own() -> None:
    """Whoever always came first would always find the quiet machine."""
    found = list(make_turns(["own"], ARMS, len(ARMS), seed=1))
    places = Counter((n % len(ARMS), turn.arm) for n, turn in enumerate(found))

    assert len(places) == len(ARMS) ** 2
    assert set(places.values()) == {1}


def test_a_seed_gives_one_order_and_seeds_differ_in_who_begins() -> None:
    """An interrupted comparison is resumed as it would have gone on."""
    orders = {seed: list(make_turns(LIMITS, ARMS, 2, seed)) for seed in range(20)}

    assert orders[3] == list(make_turns(LIMITS, ARMS, 2, 3))
    assert {order[0].arm for order in orders.values()} == set(ARMS)
