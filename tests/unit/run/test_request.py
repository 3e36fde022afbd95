"""Choosing what to run; bad input ends before any cluster is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.run.errors import NothingToRunError, UnknownVariantError
from testbed.run.request import RunRequest, choose_scenarios

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def chosen(*asked: str, variant: str | None = None, label: str = "") -> list[str]:
    labels = [label] if label else []
    found = choose_scenarios(asked, folder=SCENARIOS, variant=variant, labels=labels)
    return [scenario.scenario_id for scenario in found]


def test_a_variant_narrows_the_choice() -> None:
    """One variant of one scenario is what a developer repeats."""
    assert chosen("paper/priorities", variant="mixed") == ["paper/priorities@mixed"]


def test_the_plain_run_can_be_chosen_too() -> None:
    """It has no name of its own in the file."""
    assert chosen("paper/priorities", variant="default") == ["paper/priorities"]


def test_an_unknown_variant_names_the_known_ones() -> None:
    """A typing error is mended without looking into the file."""
    with pytest.raises(UnknownVariantError, match="default, highest-first, mixed"):
        chosen("paper/priorities", variant="mixd")


def test_an_empty_choice_is_an_error() -> None:
    """A run of nothing would pass, and hide that nothing was tested."""
    with pytest.raises(NothingToRunError, match="stowage scenario list"):
        chosen(label="no-such-label")


def test_rounds_count_as_runs() -> None:
    """The bar of ten rounds of three scenarios has thirty steps."""
    scenarios = choose_scenarios(["paper/priorities"], folder=SCENARIOS)

    assert RunRequest(scenarios, repeat=10).total == 30
