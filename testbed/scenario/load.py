"""From files to scenarios."""

from __future__ import annotations

from pathlib import Path

from testbed.scenario.model import Scenario


def load_file(path: Path) -> tuple[Scenario, ...]:
    """Return the default run of a scenario file, then its variants.

    Raises
    ------
    ScenarioFaultsError
        With every fault of the file: its line, its column and the way out.
    """
    raise NotImplementedError


def load_folder(folder: Path) -> tuple[Scenario, ...]:
    """Return every scenario below a folder, sorted by name, with its variants."""
    raise NotImplementedError
