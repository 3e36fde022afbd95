"""Building an image: a folder with its Containerfile and all that it copies, and `docker build`."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.docker_engine import docker
from stowage_testbed.images.recipe import (
    CONTENT_LABEL,
    EPOCH,
    NODE_TOOLS,
    RECIPES,
    ImageMissingError,
    Recipe,
    check_image,
    content_key,
    last_change,
    recipe_of,
    recipes_home,
    source_epoch,
)
from stowage_testbed.toolchain import tool_path

BUILD_TIMEOUT_S = 1800.0
_TAIL_LINES = 15

# What kubeadm asks for: `kubeadm config images list`.
_REGISTRY = "registry.k8s.io"
_ETCD = {"1.36": "etcd:3.6.8-0", "1.37": "etcd:3.7.0-0"}
_PAUSE = "pause:3.10.2"
_PAUSE_PROGRAM = "./usr/bin/catatonit"


def build_image(recipe: Recipe, base: str = "") -> None:
    """Build an image, with what it is built on, unless the engine has it of these sources.

    Another ``base`` is one that the engine or a registry has. Raises a RecipesMissingError if this is no checkout, and
    a StowageError if no engine answers, a program is not installed, or a step failed.
    """
    key = content_key(recipe, base)
    with suppress(ImageMissingError):
        check_image(recipe, base)
        return
    if recipe.base and not base:
        build_image(recipe_of(recipe.base))
        base = recipe_of(recipe.base).reference
    arguments = {"VERSION": recipe.tag, "REVISION": last_change(recipe, "%H") or "unknown", EPOCH: source_epoch(recipe)}
    if base:
        arguments["BASE"] = base
    with tempfile.TemporaryDirectory(prefix="stowage-image-") as folder:
        context = Path(folder)
        prepare(recipe, context)
        _build(context, recipe.reference, key, arguments)


def prepare(recipe: Recipe, context: Path) -> None:
    """Fill a folder for the build of an image; raises `StowageError` if something cannot be fetched, or is missing."""
    checkout = recipes_home()
    shutil.copytree(checkout / RECIPES / recipe.name, context, dirs_exist_ok=True)
    for tool in recipe.tools:
        shutil.copy2(tool_path(tool, recipe.minor), context / tool)
    if (context / "build").is_file():
        _run(recipe.name, [str(context / "build"), str(context)], {EPOCH: source_epoch(recipe)})
    if recipe.name == "optimizer":
        _add_packages(checkout, context)
    if recipe.name == "node":
        _add_images(recipe, context)


def _build(context: Path, reference: str, key: str = "", arguments: Mapping[str, str] | None = None) -> None:
    options = [f"--build-arg={name}={value}" for name, value in (arguments or {}).items()]
    options += [f"--file={context / 'Containerfile'}", f"--label={CONTENT_LABEL}={key}", f"--tag={reference}"]
    # No step needs a network.
    docker("build", "--network=none", *options, str(context), timeout_s=BUILD_TIMEOUT_S)


def _add_packages(checkout: Path, context: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    wheels = ["--only-binary=:all:", "--require-hashes", f"--dest={context / 'wheels'}"]
    _run("optimizer", [*pip, *wheels, "--requirement", str(context / "requirements.lock")])
    # The base needs no pip of its own: a wheel of it is a program.
    _run("optimizer", [*pip, f"--dest={context / 'pip'}", f"pip=={version('pip')}"])
    (wheel,) = (context / "pip").iterdir()
    wheel.rename(context / "pip.zip")
    unread = shutil.ignore_patterns("__pycache__")
    shutil.copytree(checkout / "optimizer" / "stowage_optimizer", context / "stowage_optimizer", ignore=unread)


def _add_images(recipe: Recipe, context: Path) -> None:
    """Write the version, and the images that the node's containerd shall have."""
    (context / "version").write_text(f"{recipe.tag}\n", encoding="utf-8")
    (context / "images").mkdir()
    for tool in NODE_TOOLS:
        image = _ETCD[recipe.minor] if tool == "etcd" else f"{tool}:{recipe.tag}"
        _save_program(context / "images" / f"{tool}.tar", f"{_REGISTRY}/{image}", tool_path(tool, recipe.minor))
    # Every pod's first process is from the node's own packages.
    program = context / "pause"
    with tarfile.open(context / "root.tar") as root:
        member = root.extractfile(_PAUSE_PROGRAM)
        assert member is not None  # noqa: S101 - the package is among those of the build
        program.write_bytes(member.read())
    program.chmod(0o755)
    _save_program(
        context / "images" / "pause.tar", f"{_REGISTRY}/{_PAUSE}", program, 'ENTRYPOINT ["/usr/local/bin/pause", "-P"]'
    )


def _save_program(target: Path, reference: str, program: Path, last: str = "") -> None:
    """Write the archive of an image whose only content is a program, which is linked statically."""
    with tempfile.TemporaryDirectory(prefix="stowage-image-") as folder:
        context = Path(folder)
        shutil.copy2(program, context)
        (context / "Containerfile").write_text(
            f"FROM scratch\nCOPY {program.name} /usr/local/bin/\nENV PATH=/usr/local/bin\n{last}\n", encoding="utf-8"
        )
        _build(context, reference)
    docker("save", "--output", str(target), reference, timeout_s=BUILD_TIMEOUT_S)


def _run(image: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run a command of a build; the error of one that failed carries its last lines."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError as error:
        raise StowageError(f"image {image}: {command[0]} cannot be run: {error}") from error
    if done.returncode:
        lines = [f"  {line}" for line in done.stdout.splitlines()[-_TAIL_LINES:]]
        missing = "" if shutil.which("mmdebstrap") else "; on Debian and Ubuntu: apt-get install mmdebstrap"
        raise StowageError(
            f"image {image}: {' '.join(command[:3])} failed{missing}; its last lines:\n" + "\n".join(lines)
        )
