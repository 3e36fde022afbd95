"""One environment with the wheel for all tests here."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from installed_wheel import Installed

from stowage_testbed.base import layout

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheels and install them beside the dependencies that are here.

    No network is needed: the dependencies are those of the environment that runs this test, reached by a ``.pth`` file.
    The files with this ending in *that* folder are not read then, so that the checkout, which is installed by one, is
    out of sight; and the wheel's own folder comes first. ``pip install stowage`` differs in where the dependencies come
    from, and in nothing else.
    """
    base = tmp_path_factory.mktemp("installed")
    folder, home = base / "venv", base / "home"
    home.mkdir()
    wheels = base / "wheels"
    for project in (ROOT, ROOT / "optimizer", ROOT / "benchmarks/strategies"):
        build = ("-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels))
        _quietly(*build, cwd=project)
    _quietly("-m", "uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    python = folder / "bin" / "python"
    install = ("-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps")
    _quietly(*install, "--python", str(python), *map(str, wheels.glob("*.whl")))
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    variables = {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        # The tools are there already: their keys do not depend on the checkout.
        "STOWAGE_CACHE": str(layout.cache_folder()),
        "STOWAGE_SOURCE": "go",
        # So is what was compiled of the same sources, which takes minutes.
        "STOWAGE_COMPILED": str(ROOT / "optimizer/stowage_optimizer/search/__pycache__"),
    }
    return Installed(folder, variables)


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    """Return a folder in which nothing is found by chance."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def _quietly(*arguments: str, cwd: Path = ROOT) -> None:
    subprocess.run(
        [sys.executable, *arguments], cwd=cwd, check=True, capture_output=True, env={**os.environ, "UV_OFFLINE": "1"}
    )
