"""Choosing what to run; bad input ends before any cluster is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.errors import InputError
from stowage_testbed.run.request import RunRequest, choose_scenarios

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
    """A typing error is fixed without looking into the file."""
    with pytest.raises(InputError, match="default, highest-first, mixed"):
        chosen("paper/priorities", variant="mixd")


def test_an_empty_choice_is_an_error() -> None:
    """A run of nothing would pass, and hide that nothing was tested."""
    with pytest.raises(InputError, match="stowage scenario list"):
        chosen(label="no-such-label")


def test_rounds_count_as_runs() -> None:
    """The bar of ten rounds of three scenarios has thirty steps."""
    scenarios = choose_scenarios(["paper/priorities"], folder=SCENARIOS)

    assert RunRequest(scenarios, repeat=10).total == 30


def test_long_scenarios_run_only_when_they_are_asked_for() -> None:
    """`stowage run` without a name is what a developer waits for."""
    everything = chosen()

    assert "burst/deployment-200" in everything
    assert "burst/scale-5000" not in everything
    assert "burst/scale-5000" not in chosen("burst/*")
    assert "burst/scale-5000" not in chosen(str(SCENARIOS / "burst"))


@pytest.mark.parametrize(
    "asked", ["burst/scale-5000", str(SCENARIOS / "burst" / "scale-5000.yaml")]
)
def test_naming_a_long_scenario_is_asking_for_it(asked: str) -> None:
    """Nobody types it by accident."""
    assert chosen(asked) == ["burst/scale-5000"]


def test_a_label_asks_for_long_scenarios_too() -> None:
    """`--label full` is the night's run."""
    assert "burst/scale-5000" in chosen(label="full")


def test_what_needs_another_cluster_runs_only_when_it_is_asked_for() -> None:
    """Without metrics-server, which not everybody has built, nothing else would run."""
    assert "hpa/recovery" not in chosen()
    assert chosen("hpa/recovery")[0] == "hpa/recovery"
    assert chosen(label="metrics") == [
        "hpa/recovery", "hpa/recovery@too-few", "hpa/recovery@plenty",
    ]  # fmt: skip


def test_variants_are_chosen_by_labels_of_their_own() -> None:
    """One file serves CI and the benchmark."""
    assert "burst/deployment-200@small" in chosen(label="smoke")
    assert "burst/deployment-200" not in chosen(label="smoke")
    assert chosen("burst/deployment-200", label="short") == ["burst/deployment-200"]
