"""A first scenario file: commented, free of issues, and ready to run."""

from __future__ import annotations

import textwrap
from importlib import resources
from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.steps.kinds import ACTIONS
from stowage_testbed.scenario.types import is_scenario_name

SCHEMA_FILE = "schema.json"


def write_starter(name: str, folder: Path) -> Path:
    """Write a file for a scenario of this name, and return its path.

    Raises
    ------
    InputError
        The name is not a topic and a behaviour, or there is such a file already.
    """
    if not is_scenario_name(name):
        raise InputError(f"a scenario cannot be called {name!r}; write a topic and a behaviour, as in web/scale-up")
    path = folder / f"{name}.yaml"
    text = make_starter(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"there is already a file {path}; choose another name, or remove it") from error
    return path


def make_starter(name: str) -> str:
    """Return the text of a scenario of this name."""
    text = resources.files(__package__).joinpath("starter.yaml").read_text("utf-8")
    more = ", ".join(kind for kind in ACTIONS if f"- {kind}:" not in text)
    words = f"More steps: {more}. `stowage scenario explain steps` describes each."
    indent = "  # "
    comment = textwrap.fill(words, width=110, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    text = text.replace(f"{indent}MORE STEPS", comment)
    return text.replace("SCHEMA", f"../{SCHEMA_FILE}").replace("NAME", name)
