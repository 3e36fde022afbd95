"""A first scenario file: commented, free of issues, and ready to run."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from stowage_testbed.scenario.errors import ScenarioNameError, ScenarioThereError
from stowage_testbed.scenario.words import is_scenario_name

SCHEMA_FILE = "schema.json"


def write_starter(name: str, folder: Path) -> Path:
    """Write a file for a scenario of this name, and return its path.

    Raises
    ------
    ScenarioNameError
        The name is not a topic and a behaviour.
    ScenarioThereError
        There is such a file already.
    """
    if not is_scenario_name(name):
        raise ScenarioNameError(name)
    path = folder / f"{name}.yaml"
    text = starter_text(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ScenarioThereError(path) from error
    return path


def starter_text(name: str) -> str:
    """Return the text of a scenario of this name."""
    text = resources.files(__package__).joinpath("starter.yaml").read_text("utf-8")
    return text.replace("SCHEMA", f"../{SCHEMA_FILE}").replace("NAME", name)
