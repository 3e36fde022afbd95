"""From the command line to what is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.compare.session.request import (
    default_folder,
    limits_of,
    one_scenario,
    words,
)
from stowage_testbed.errors import InputError
from stowage_testbed.run.arm import ClientLimits

SCENARIOS = Path(__file__).parents[4] / "scenarios"


def test_lists_have_commas_and_may_have_spaces() -> None:
    assert words(" default, stowage,,") == ["default", "stowage"]


def test_limits_are_run_in_the_order_in_which_they_are_named() -> None:
    chosen = limits_of("equal,own", 500)

    assert list(chosen) == ["equal", "own"]
    assert chosen["equal"] == ClientLimits(500, 500)
    assert chosen["own"] is None


@pytest.mark.parametrize("text", ["equel", "", ","])
def test_limits_of_another_kind_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"`own`.*nor `equal`"):
        limits_of(text, 1000)


def test_a_name_means_the_scenario_without_its_variants() -> None:
    """They are other worlds: nobody means all of them at once."""
    plain = one_scenario("burst/deployment-200", SCENARIOS, None)
    small = one_scenario("burst/deployment-200", SCENARIOS, "small")

    assert plain.scenario_id == "burst/deployment-200"
    assert small.scenario_id == "burst/deployment-200@small"


def test_a_folder_of_scenarios_is_too_many() -> None:
    with pytest.raises(InputError, match="compare one at a time"):
        one_scenario("burst/*", SCENARIOS, None)


def test_variants_have_folders_of_their_own() -> None:
    small = one_scenario("burst/deployment-200", SCENARIOS, "small")

    assert default_folder(small).name == "burst-deployment-200-small"
