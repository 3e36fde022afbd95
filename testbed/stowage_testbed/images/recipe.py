"""The images: what each is called, what it is made of, and whether the engine has it."""

import hashlib
import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.docker_engine import docker, engine_unavailable_reason, image_id
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
