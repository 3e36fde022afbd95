"""The images: what each is called and made of, whether the engine has it, and how `docker build` makes it."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.docker_engine import docker, engine_unavailable_reason, image_id
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.environment import git
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import choose_minor, find_minor, load_manifest

RECIPES = Path("ci") / "images"
"""Where the recipes are in a checkout, and nowhere else."""
CONTENT_LABEL = "dev.stowage.content"
EPOCH = "SOURCE_DATE_EPOCH"
"""The agreed variable for the timestamp of the files of a reproducible build."""
NODE_TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""What a node of kind runs in containers."""
_WITHOUT_GIT = "1600000000"
_PULL_TIMEOUT_S = 900.0
BUILD_TIMEOUT_S = 1800.0
_TAIL_LINES = 15

# What kubeadm asks for: `kubeadm config images list`.
_REGISTRY = "registry.k8s.io"
_ETCD = {"1.36": "etcd:3.6.8-0", "1.37": "etcd:3.7.0-0"}
_PAUSE = "pause:3.10.2"
_PAUSE_PROGRAM = "./usr/bin/catatonit"


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image; its folder ``name`` in ``ci/images`` holds a Containerfile."""

    name: str
    repository: str
    tag: str
    inputs: tuple[str, ...] = ()
    """Files and folders of the checkout that its content depends on."""
    tools: tuple[str, ...] = ()
    """Tools of the manifest that its build copies."""
    base: str = ""
    """The image that it is built on where nobody names another."""
    group: str = "release"
    published: str = ""
    """Somebody else's image that does the same, from a registry."""
    tools_as_images: tuple[str, ...] = ()
    minor: str = ""
    """Of Kubernetes, that its tools are of."""

    @property
    def reference(self) -> str:
        """Its full name."""
        return f"{self.repository}:{self.tag}"


class RecipesMissingError(StowageError):
    """There are no recipes: this is no checkout."""

    def __init__(self) -> None:
        super().__init__(
            "images are built in a checkout of Stowage, and this is an installed package; pull those of its release "
            "instead"
        )


class ImageMissingError(StowageError):
    """The engine does not have an image, or has one of other sources."""

    def __init__(self, recipe: Recipe) -> None:
        of = f" --kubernetes {recipe.minor}" if recipe.minor else ""
        super().__init__(
            f"there is no image {recipe.reference} of these sources; in a checkout run: stowage images build "
            f"{recipe.name}{of} (`make images` builds all)"
        )


def recipes(minor: str | None = None) -> dict[str, Recipe]:
    """Return all images of a minor of Kubernetes by name, each after its base."""
    ours = version("stowage")
    minor = choose_minor(minor)
    kubernetes = find_minor(minor).kubernetes
    made = (
        Recipe("base", "stowage/python", "bookworm", group="base"),
        Recipe("scheduler", "stowage/scheduler", f"{ours}-k8s{minor}", tools=("stowage-scheduler",), minor=minor),
        Recipe("optimizer", "stowage/optimizer", ours, ("optimizer",), base="base"),
        Recipe(
            "node",
            "stowage/node",
            kubernetes,
            tools=("kubelet", "kubeadm", "kubectl"),
            tools_as_images=NODE_TOOLS,
            group="kind",
            published=f"kindest/node:{kubernetes}",
            minor=minor,
        ),
    )
    return {recipe.name: recipe for recipe in made}


def recipe_of(name: str, minor: str | None = None) -> Recipe:
    """Return an image of a minor of Kubernetes by name; raises `StowageError` if there is none."""
    known = recipes(minor)
    if name not in known:
        raise StowageError(f"no image {name!r}; there are {', '.join(known)}")
    return known[name]


def recipes_home() -> Path:
    """Return the checkout; raises `RecipesMissingError` in an installed package."""
    checkout = layout.checkout()
    if checkout is None or not (checkout / RECIPES).is_dir():
        raise RecipesMissingError
    return checkout


def content_key(recipe: Recipe, base: str = "") -> str:
    """Return a short hash of all that goes into an image, also another ``base``."""
    checkout = recipes_home()
    digest = hashlib.sha256(f"{recipe.reference} {base} {source_epoch(recipe)}".encode())
    if recipe.base and not base:
        digest.update(content_key(recipe_of(recipe.base)).encode())
    for tool in (*recipe.tools, *recipe.tools_as_images):
        digest.update(tool_key(load_manifest().tool(tool, recipe.minor)).encode())
    for name in (str(RECIPES / recipe.name), *recipe.inputs):
        for file in sorted((checkout / name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(checkout)).encode() + b"\0")
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def source_epoch(recipe: Recipe) -> str:
    """Return the timestamp of an image's files, in seconds: the environment's, or that of the last change to it."""
    return os.environ.get(EPOCH) or last_change(recipe, "%ct") or _WITHOUT_GIT


def last_change(recipe: Recipe, shown: str) -> str:
    """Return what Git shows of the last commit that changed what an image is made of; empty without Git."""
    tools = load_manifest().tools(recipe.minor)
    sources = {"scheduler" for tool in recipe.tools if tools[tool].own}
    paths = [str(RECIPES / recipe.name), *recipe.inputs, *sources]
    return git("log", "-1", f"--format={shown}", "--", *paths) or ""


def check_image(recipe: Recipe, base: str = "") -> None:
    """Raise `ImageMissingError` unless the engine has an image, in a checkout of the very sources that are here."""
    if not image_id(recipe.reference):
        raise ImageMissingError(recipe)
    try:
        key = content_key(recipe, base)
    except RecipesMissingError:
        return
    built = docker("image", "inspect", "--format", f'{{{{index .Config.Labels "{CONTENT_LABEL}"}}}}', recipe.reference)
    if built != key:
        raise ImageMissingError(recipe)


def is_published(recipe: Recipe) -> bool:
    """Return whether the engine has, or can pull, the image that does the same."""
    if not recipe.published or engine_unavailable_reason():
        return False
    if image_id(recipe.published):
        return True
    try:
        docker("pull", "--quiet", recipe.published, timeout_s=_PULL_TIMEOUT_S)
    except StowageError:
        return False
    return True


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
