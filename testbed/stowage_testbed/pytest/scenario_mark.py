"""`@pytest.mark.scenario("file.yaml")`: which scenario a test is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.pytest.errors import NoFileError, ScenarioMarkError
from stowage_testbed.pytest.manifests import SUFFIXES
from stowage_testbed.run.request import DEFAULT_VARIANT
from stowage_testbed.scenario.catalogue import select
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario


def marked_scenario(mark: pytest.Mark, test: str, folder: Path, root: Path) -> Scenario:
    """Return the scenario that a mark names: its plain run unless it says otherwise.

    Parameters
    ----------
    mark
        With a file or a name, and ``variant`` if another run is meant.
    test
        The test's name, for errors.
    folder
        Where files are looked for: the test's.
    root
        Names are looked up in its ``scenarios``, before those that come with Stowage.

    Raises
    ------
    ScenarioMarkError, NoFileError
        The mark does not say what to run.
    StowageError, ScenarioIssuesError
        There is no such scenario, or it has issues.
    """
    word = _word(mark, test)
    if Path(word).suffix in SUFFIXES:
        file = folder / word
        if not file.is_file():
            raise NoFileError(file)
        found = load_file(file)
    else:
        found = select([word], folder=root / "scenarios")
    runs = {one.variant or DEFAULT_VARIANT: one for one in found}
    if len({one.name for one in found}) > 1:
        raise ScenarioMarkError(test, f"{word!r} means several scenarios")
    only = next(iter(runs)) if len(runs) == 1 else DEFAULT_VARIANT
    variant = mark.kwargs.get("variant", only)
    if variant not in runs:
        there = ", ".join(sorted(runs))
        raise ScenarioMarkError(test, f"no variant {variant!r}, there are {there}")
    return runs[variant]


def _word(mark: pytest.Mark, test: str) -> str:
    unknown = set(mark.kwargs) - {"variant"}
    if unknown:
        raise ScenarioMarkError(test, f"unknown argument {', '.join(sorted(unknown))}")
    if len(mark.args) != 1:
        raise ScenarioMarkError(test, f"{len(mark.args)} scenarios in one mark")
    return str(mark.args[0])
