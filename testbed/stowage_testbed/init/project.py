"""The files that `stowage init` writes: a scenario, a test and a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, resources
from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.schema import SCHEMA_FILE, make_starter, write_editor_schema

SCENARIO = "web/scale-up"
SCENARIO_FILE = Path("scenarios") / f"{SCENARIO}.yaml"
TEST_FILE = Path("tests") / "test_scheduling.py"
WORKFLOW_FILE = Path(".github") / "workflows" / "stowage.yaml"


def write_project(folder: Path, *, force: bool = False) -> list[Path]:
    """Write the files, and return them in the order in which one reads them.

    The folder is the root of the user's repository; it is made if it is not there. With
    ``force`` what is there is overwritten.

    Raises
    ------
    InputError
        Some are there, each of which is named, and nothing was written; or a file
        cannot be written.
    """
    texts = {folder / file: text for file, text in _texts().items()}
    there = [file for file in texts if file.exists()]
    if there and not force:
        listed = "\n".join(f"  {file}" for file in there)
        raise InputError(
            f"these files are in the way, and nothing was written:\n{listed}\n"
            "move them, name another folder, or overwrite them with --force"
        )
    for file, text in texts.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        except OSError as error:
            raise InputError(f"cannot write {file}: {error.strerror}; name a folder that can be written to") from error
    return list(texts)


def _texts() -> Mapping[Path, str]:
    return {
        SCENARIO_FILE: make_starter(SCENARIO),
        SCENARIO_FILE.parents[1] / SCHEMA_FILE: write_editor_schema(),
        TEST_FILE: _template("test_scheduling.py.txt"),
        WORKFLOW_FILE: _template("workflow.yaml"),
    }


def _template(name: str) -> str:
    text = resources.files(__package__).joinpath("templates", name).read_text("utf-8")
    text = text.replace("SCENARIO", str(SCENARIO_FILE))
    return text.replace("VERSION", metadata.version("stowage"))
