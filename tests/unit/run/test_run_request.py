"""Choosing what to run; bad input ends before any cluster is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.run.request import RunRequest, choose_scenarios

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def chosen(*asked: str, variant: str | None = None, label: str = "") -> list[str]:
    labels = [label] if label else []
    found = choose_scenarios(asked, folder=SCENARIOS, variant=variant, labels=labels)
    return [scenario.scenario_id for scenario in found]


@pytest.mark.parametrize(
    ("variant", "found"),
    # The plain run has no name of its own in the file.
    [("mixed", "paper/priorities@mixed"), ("default", "paper/priorities")],
)
def test_a_variant_narrows_the_choice(variant: str, found: str) -> None:
    """One variant of one scenario is what a developer repeats."""
    assert chosen("paper/priorities", variant=variant) == [found]


def test_a_choice_that_means_nothing_is_an_error() -> None:
    """A run of nothing would pass; a typing error is fixed without the file."""
    with pytest.raises(InputError, match="stowage scenario list"):
        chosen(label="no-such-label")
    with pytest.raises(InputError, match="default, highest-first, mixed"):
        chosen("paper/priorities", variant="mixd")


def test_rounds_count_as_runs() -> None:
    """The bar of ten rounds of three scenarios has thirty steps."""
    scenarios = choose_scenarios(["paper/priorities"], folder=SCENARIOS)

    assert RunRequest(scenarios, repeat=10).total == 30


def test_what_is_long_or_needs_another_cluster_runs_only_when_it_is_asked_for() -> None:
    """`stowage run` without a name is what a developer waits for.

    Without metrics-server, which not everybody has built, nothing else would run.
    """
    everything = chosen()

    assert "burst/deployment-200" in everything
    assert "burst/scale-5000" not in chosen("burst/*")
    assert "burst/scale-5000" not in chosen(str(SCENARIOS / "burst"))
    for apart in ("burst/scale-5000", "hpa/recovery"):
        assert apart not in everything
        assert chosen(apart)[0] == apart
        assert chosen(str(SCENARIOS / f"{apart}.yaml"))[0] == apart
    assert "burst/scale-5000" in chosen(label="full")
    assert chosen(label="metrics") == [
        "hpa/recovery", "hpa/recovery@too-few", "hpa/recovery@plenty",
    ]  # fmt: skip


def test_variants_are_chosen_by_labels_of_their_own() -> None:
    """One file serves CI and the benchmark."""
    assert "burst/deployment-200@small" in chosen(label="smoke")
    assert "burst/deployment-200" not in chosen(label="smoke")
    assert chosen("burst/deployment-200", label="short") == ["burst/deployment-200"]
