"""What `stowage init` writes, and what it leaves alone."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import stowage_testbed.cli
from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.init import SCENARIO_FILE, TEST_FILE, WORKFLOW_FILE, write_project
from stowage_testbed.scenario.load import select

ROOT = Path(__file__).parents[3]


def run_module(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", *arguments]
    return subprocess.check_output(command, cwd=folder, text=True)


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


def test_files_in_the_way_are_named_and_overwritten_only_by_force(tmp_path: Path) -> None:
    """Half a project is worse than none, and whoever tidies up does so once."""
    for file in (TEST_FILE, WORKFLOW_FILE):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("mine")

    with pytest.raises(InputError, match="in the way") as refused:
        write_project(tmp_path)

    for file in (TEST_FILE, WORKFLOW_FILE):
        assert f"  {tmp_path / file}\n" in str(refused.value)
        assert (tmp_path / file).read_text() == "mine"
    assert str(tmp_path / SCENARIO_FILE) not in str(refused.value)
    assert not (tmp_path / SCENARIO_FILE).exists()
    write_project(tmp_path, force=True)
    assert "def test_" in (tmp_path / TEST_FILE).read_text()
    # A file where a folder must be is no traceback's business.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tests").write_text("no folder")
    with pytest.raises(InputError, match="tests"):
        write_project(tmp_path / "other")


def test_what_is_written_runs_is_collected_and_passes_a_linter(tmp_path: Path) -> None:
    """The first thing that somebody does is to run it, and other projects lint."""
    result = CliRunner().invoke(stowage_testbed.cli.app, ["init", str(tmp_path)])

    # Nobody should have to look for the next step.
    assert {f"wrote {tmp_path / SCENARIO_FILE}", f"  stowage run {SCENARIO_FILE}", f"  pytest {TEST_FILE}"} <= {
        *result.stdout.splitlines()
    }
    found = select((), folder=tmp_path / "scenarios")
    assert {one.path for one in found} == {tmp_path / SCENARIO_FILE}
    assert "2 tests collected" in run_module(tmp_path, "pytest", "--collect-only", "-q", "--strict-markers")
    rules = ("yamllint", "--strict", "-c", str(ROOT / ".yamllint.yaml"))
    files = (str(tmp_path / file) for file in (SCENARIO_FILE, WORKFLOW_FILE))
    assert run_module(tmp_path, *rules, *files) == ""
