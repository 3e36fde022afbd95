"""The images: what each is called, what it is made of, and what decides its content."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.minors import choose_minor, find_minor

RECIPES = Path("ci") / "images"
"""Where the recipes are in a checkout, and nowhere else."""


class RecipesMissingError(StowageError):
    """There are no recipes: this is no checkout."""

    def __init__(self) -> None:
        super().__init__(
            "images are built in a checkout of Stowage, and this is an installed "
            "package; pull those of its release instead"
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image.

    Attributes
    ----------
    name
        Its folder in ``ci/images``, which holds a Containerfile.
    repository, tag
        What it is called in an engine.
    inputs
        Files and folders of the checkout that its content depends on.
    tools
        Tools of the manifest that its build copies.
    tools_as_images
        Tools that are in it as images of their own.
    base
        The image that it is built on where nobody names another; "" for none.
    group
        Images that are built together.
    published
        Somebody else's image that does the same, from a registry; "" for none.
    minor
        Of Kubernetes, that its tools are of.
    """

    name: str
    repository: str
    tag: str
    inputs: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    base: str = ""
    group: str = "release"
    published: str = ""
    tools_as_images: tuple[str, ...] = ()
    minor: str = ""

    @property
    def reference(self) -> str:
        """Its full name."""
        return f"{self.repository}:{self.tag}"


NODE_TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""What a node of kind runs in containers."""


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
    """Return an image of a minor of Kubernetes by name.

    Raises
    ------
    StowageError
        There is none of that name.
    """
    known = recipes(minor)
    if name not in known:
        raise StowageError(f"no image {name!r}; there are {', '.join(known)}")
    return known[name]


def recipes_home() -> Path:
    """Return the checkout.

    Raises
    ------
    RecipesMissingError
        This is an installed package.
    """
    checkout = layout.checkout()
    if checkout is None or not (checkout / RECIPES).is_dir():
        raise RecipesMissingError
    return checkout
