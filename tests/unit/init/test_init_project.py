"""What `stowage init` writes, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import stowage_testbed.cli
from stowage_testbed.base.errors import InputError
from stowage_testbed.init.project import (
    SCENARIO_FILE,
    TEST_FILE,
    WORKFLOW_FILE,
    write_project,
)
from stowage_testbed.scenario.catalogue import select

ROOT = Path(__file__).parents[3]


def test_the_scenario_has_no_issues(tmp_path: Path) -> None:
    """The first thing that somebody does is to run it."""
    write_project(tmp_path)

    found = select((), folder=tmp_path / "scenarios")

    assert {one.path for one in found} == {tmp_path / SCENARIO_FILE}


def test_pytest_collects_the_tests(tmp_path: Path) -> None:
    """Also in a project that knows nothing of our marks yet."""
    write_project(tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "--strict-markers"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "2 tests collected" in done.stdout


def test_the_workflow_calls_the_action_of_this_version(tmp_path: Path) -> None:
    """Its inputs are the action's; another version may have others."""
    write_project(tmp_path)

    workflow = yaml.safe_load((tmp_path / WORKFLOW_FILE).read_text("utf-8"))
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

    (job,) = workflow["jobs"].values()
    step = job["steps"][-1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert step["uses"] == f"stowage/stowage@v{project['version']}"
    assert step["with"]["scenario"] == str(SCENARIO_FILE)
    assert set(step["with"]) == set(action["inputs"])


def test_yamllint_has_nothing_to_say(tmp_path: Path) -> None:
    """Other projects lint what they take in."""
    files = [file for file in write_project(tmp_path) if file.suffix == ".yaml"]

    rules = str(ROOT / ".yamllint.yaml")
    command = [sys.executable, "-m", "yamllint", "--strict", "-c", rules]
    done = subprocess.run(
        [*command, *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert len(files) == 2
    assert done.stdout == ""


def test_files_in_the_way_are_all_named_and_none_is_written(tmp_path: Path) -> None:
    """Half a project is worse than none, and whoever tidies up does so once."""
    for file in (TEST_FILE, WORKFLOW_FILE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("mine")

    with pytest.raises(InputError, match="in the way") as refused:
        write_project(tmp_path)

    assert f"  {tmp_path / TEST_FILE}\n" in str(refused.value)
    assert f"  {tmp_path / WORKFLOW_FILE}\n" in str(refused.value)
    assert str(tmp_path / SCENARIO_FILE) not in str(refused.value)
    assert (tmp_path / TEST_FILE).read_text() == "mine"
    assert not (tmp_path / SCENARIO_FILE).exists()


def test_force_overwrites(tmp_path: Path) -> None:
    """To take in what a newer version writes."""
    (tmp_path / TEST_FILE).parent.mkdir()
    (tmp_path / TEST_FILE).write_text("mine")

    write_project(tmp_path, force=True)

    assert "def test_" in (tmp_path / TEST_FILE).read_text()


def test_a_file_where_a_folder_must_be_is_reported(tmp_path: Path) -> None:
    """It is no traceback's business."""
    (tmp_path / "tests").write_text("no folder")

    with pytest.raises(InputError, match="tests"):
        write_project(tmp_path)


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path) -> None:
    """Nobody should have to look for the next step."""
    result = CliRunner().invoke(stowage_testbed.cli.app, ["init", str(tmp_path)])

    lines = result.stdout.splitlines()
    assert f"wrote {tmp_path / SCENARIO_FILE}" in lines
    assert f"  stowage run {SCENARIO_FILE}" in lines
    assert f"  pytest {TEST_FILE}" in lines
