"""The settings of a release, from its values."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.whatif.release import Release, release_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "values.yaml"


def test_rules_limits_and_gates_are_those_of_the_release(file: Path) -> None:
    """Values that are not read would answer another question."""
    file.write_text(
        "priorityOptimizer: {evictJobs: true, namespaceSelector: {}, limits: "
        "{maxMoves: 7, maxPerNode: 0}}\n"
        "scheduler: {featureGates: {NodeDeclaredFeatures: true}}\nprofile: optimizer\n"
    )

    release = release_of(file)

    assert release.arguments["evictJobs"] is True
    assert "namespaceSelector" not in release.arguments
    assert (release.limit("maxMoves"), release.limit("maxPerNode")) == (7, None)
    assert release.feature_gates == "NodeDeclaredFeatures=true"


def test_the_pods_are_those_of_the_scheduler_that_the_values_name(file: Path) -> None:
    """Values that name none are of no release yet: it may be asked for either name."""
    file.write_text("schedulerName: mine\n")
    assert release_of(file).schedulers == ("mine",)

    file.write_text("priorityOptimizer: {evictJobs: true}\n")
    assert release_of(file).schedulers == ("default-scheduler", "stowage")
    assert release_of(None).schedulers == ("default-scheduler", "stowage")


@pytest.mark.parametrize(("asked", "right"), [(None, 5), (9, 5), (2, 2), (0, 5)])
def test_fewer_moves_may_be_asked_for_than_the_release_allows(
    asked: int | None, right: int
) -> None:
    """None at all is beyond what the plugin's limits can say; the optimiser is told."""
    release = Release(arguments={"limits": {"maxMoves": 5, "maxPerNode": 1}})

    bounded = release.at_most(asked)

    assert (bounded.limit("maxMoves"), bounded.limit("maxPerNode")) == (right, 1)


@pytest.mark.parametrize("text", ["[1, 2]", "priorityOptimizer: true", "a: ["])
def test_what_holds_no_values_is_refused(file: Path, text: str) -> None:
    """The way out is the command that prints them."""
    file.write_text(text)
    with pytest.raises(InputError, match="helm get values"):
        release_of(file)
