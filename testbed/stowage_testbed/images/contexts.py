"""What each build is given: a folder with a Containerfile and all that it copies."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.images.command import run
from stowage_testbed.images.docker_archive import write_program_archive
from stowage_testbed.images.recipe import NODE_TOOLS, RECIPES, Recipe
from stowage_testbed.toolchain import tool_path

# What kubeadm asks for: `kubeadm config images list`.
_REGISTRY = "registry.k8s.io"
_ETCD = {"1.36": "etcd:3.6.8-0", "1.37": "etcd:3.7.0-0"}
_PAUSE = "pause:3.10.2"
_PAUSE_PROGRAM = "./usr/bin/catatonit"


def prepare(recipe: Recipe, checkout: Path, context: Path, epoch: int) -> None:
    """Fill a folder for the build of an image.

    Raises
    ------
    StowageError
        Something could not be fetched, or a tool for the image is not installed.
    """
    source = checkout / RECIPES / recipe.name
    shutil.copytree(source, context, dirs_exist_ok=True)
    for tool in recipe.tools:
        shutil.copy2(tool_path(tool, recipe.minor), context / tool)
    if (context / "build").is_file():
        script = [str(context / "build"), str(context)]
        run(recipe.name, script, {"SOURCE_DATE_EPOCH": str(epoch)})
    if further := _FURTHER.get(recipe.name):
        further(recipe, checkout, context)


def _optimizer(_recipe: Recipe, checkout: Path, context: Path) -> None:
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


def _node(recipe: Recipe, _checkout: Path, context: Path) -> None:
    _add_images(recipe, context)
    _add_pause_image(context)


def _add_images(recipe: Recipe, context: Path) -> None:
    """Write the images that the node's containerd shall have, and the version."""
    version = recipe.tag
    (context / "version").write_text(f"{version}\n", encoding="utf-8")
    folder = context / "images"
    folder.mkdir()
    for tool in NODE_TOOLS:
        image = _ETCD[recipe.minor] if tool == "etcd" else f"{tool}:{version}"
        reference = f"{_REGISTRY}/{image}"
        program = tool_path(tool, recipe.minor)
        write_program_archive(folder / f"{tool}.tar", reference, program)


def _add_pause_image(context: Path) -> None:
    """Write the image of every pod's first process, from the node's own packages."""
    with tarfile.open(context / "root.tar") as root:
        member = root.extractfile(_PAUSE_PROGRAM)
        assert member is not None  # noqa: S101 - the package is among those of the build
        program = context / "pause"
        with program.open("wb") as file:
            shutil.copyfileobj(member, file)
    command = ["/usr/local/bin/pause", "-P"]
    target = context / "images" / "pause.tar"
    write_program_archive(target, f"{_REGISTRY}/{_PAUSE}", program, command)


_FURTHER: dict[str, Callable[[Recipe, Path, Path], None]] = {"node": _node, "optimizer": _optimizer}
