"""What `pip install` of the wheel gives, seen from outside the checkout."""

import secrets
import shutil
import subprocess
from pathlib import Path

import pytest
from installed_wheel import Installed

from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

SAMPLE = Path(__file__).parents[1] / "sample_project"


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return all that a program said, for a failure."""
    return f"{done.stdout}\n{done.stderr}"


def test_the_checkout_is_out_of_sight(installed: Installed, empty_folder: Path) -> None:
    """The other tests here would prove nothing else."""
    code = "import stowage_optimizer, stowage_testbed;print(stowage_optimizer.__file__, stowage_testbed.__file__)"

    done = installed.run("python", "-c", code, cwd=empty_folder)

    found = [Path(word) for word in done.stdout.split()]
    assert len(found) == 2
    assert all(file.is_relative_to(installed.folder) for file in found)


def test_the_tools_of_the_checkout_serve_the_wheel(installed: Installed, empty_folder: Path) -> None:
    """Whoever has built them once does not build them again."""
    for tool in ("stowage-scheduler", "stowage-simulate"):
        done = installed.run("stowage", "tools", "path", tool, cwd=empty_folder)

        ours = load_manifest().tool(tool, choose_minor())
        assert done.stdout.strip() == str(binary_file(ours))


def test_without_go_and_tools_the_way_out_is_named(installed: Installed, empty_folder: Path, tmp_path: Path) -> None:
    """It is the first thing that most users see."""
    bare = Installed(installed.folder, {**installed.variables, "STOWAGE_CACHE": str(tmp_path), "PATH": "/nowhere"})

    run = bare.run("stowage", "run", "paper/figure-1", cwd=empty_folder)
    install = bare.run("stowage", "tools", "install", "helm", cwd=empty_folder)

    assert "stowage tools install" in run.stderr
    assert "install Go from https://go.dev/dl or run: pip install" in install.stderr
    assert "Traceback" not in run.stderr + install.stderr


def test_a_scenario_is_run_by_its_name(installed: Installed, empty_folder: Path) -> None:
    """Scenarios, chart, tools and optimiser come with the package."""
    name = f"installed-{secrets.token_hex(3)}"
    up = installed.run("stowage", "up", name, "--scheduler", "none", cwd=empty_folder)
    try:
        run = installed.run("stowage", "run", "paper/figure-1", "--cluster", name, cwd=empty_folder)
    finally:
        down = installed.run("stowage", "down", name, cwd=empty_folder)

    assert up.returncode == 0, said(up)
    assert run.returncode == 0, said(run)
    assert "1 of 1 scenario runs passed" in run.stdout
    assert down.returncode == 0, said(down)
    assert [path.name for path in empty_folder.iterdir()] == ["results"]


def test_a_project_with_the_fixtures_passes(installed: Installed, tmp_path: Path) -> None:
    """Every fixture and mark, by two workers, beside what `stowage init` writes."""
    project = tmp_path / "shop"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("__pycache__"))

    begun = installed.run("stowage", "init", cwd=project)
    tests = installed.run("python", "-m", "pytest", "-q", "-n", "2", cwd=project)

    assert begun.returncode == 0, said(begun)
    assert tests.returncode == 0, said(tests)
    assert "12 passed" in tests.stdout
