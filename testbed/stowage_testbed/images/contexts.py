"""What each build is given: a folder with a Containerfile and all that it copies."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.images.command import run
from stowage_testbed.images.home import RECIPES
from stowage_testbed.images.node_context import add_node_images, add_pause_image
from stowage_testbed.images.recipe import Recipe
from stowage_testbed.toolchain import tool_path


def prepare(recipe: Recipe, checkout: Path, context: Path, epoch: int) -> None:
    """Fill a folder for the build of an image.

    Raises
    ------
    ImageBuildError
        Something could not be fetched.
    ToolMissingError
        A tool that belongs into the image is not installed.
    """
    source = checkout / RECIPES / recipe.name
    shutil.copytree(source, context, dirs_exist_ok=True)
    for tool in recipe.tools:
        shutil.copy2(tool_path(tool), context / tool)
    if (context / "build").is_file():
        script = [str(context / "build"), str(context)]
        run(recipe.name, script, {"SOURCE_DATE_EPOCH": str(epoch)})
    if further := _FURTHER.get(recipe.name):
        further(checkout, context)


def _optimizer(checkout: Path, context: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    wheels = ["--only-binary=:all:", "--require-hashes", f"--dest={context / 'wheels'}"]
    locked = str(context / "requirements.lock")
    run("optimizer", [*pip, *wheels, "--requirement", locked])
    # The base needs no pip of its own: a wheel of it is a program.
    run("optimizer", [*pip, f"--dest={context / 'pip'}", f"pip=={version('pip')}"])
    (wheel,) = (context / "pip").iterdir()
    wheel.rename(context / "pip.zip")
    shutil.copytree(
        checkout / "optimizer" / "stowage_optimizer",
        context / "stowage_optimizer",
        ignore=shutil.ignore_patterns("__pycache__"),
    )


def _node(_checkout: Path, context: Path) -> None:
    add_node_images(context)
    add_pause_image(context)


_FURTHER: dict[str, Callable[[Path, Path], None]] = {
    "node": _node,
    "optimizer": _optimizer,
}
