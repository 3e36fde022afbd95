"""The images of a node of kind: its own, and those of the release, brought to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.images.archive import ImageMissingError, built_archive, is_published, load_image
from stowage_testbed.images.docker_engine import docker, image_id
from stowage_testbed.images.recipe import RecipesMissingError, recipe_of, recipes

_INSIDE = "/stowage/images"


def node_image(minor: str) -> str:
    """Return a node of a minor that the engine has: kind's own, or one of ours.

    Ours is looked for first, since it is there only where somebody had to build it.

    Raises
    ------
    ImageMissingError
        Neither is there, and kind's cannot be pulled.
    EngineUnreachableError
        The engine is away.
    """
    recipe = recipe_of("node", minor)
    try:
        load_image(built_archive(recipe))
        return recipe.reference
    except (ImageMissingError, RecipesMissingError):
        pass
    if image_id(recipe.reference):
        return recipe.reference
    if is_published(recipe):
        return recipe.published
    raise ImageMissingError(recipe)


@dataclass(frozen=True, slots=True)
class ReleaseImages:
    """Where the node gets them from.

    Attributes
    ----------
    archives
        Files by where the node sees them; it takes them in itself, which is twice as
        fast as the way through the engine.
    references
        Those that the engine has to pass on.
    """

    archives: Mapping[str, Path] = field(default_factory=dict)
    references: Sequence[str] = ()

    def bring(self, node: str, run_kind: Callable[[Sequence[str]], None]) -> None:
        """Bring them to a node; ``run_kind`` adds the cluster's name to arguments.

        Raises
        ------
        StowageError
            The node does not take them.
        """
        take = ["ctr", "--namespace=k8s.io", "images", "import", "--all-platforms"]
        for inside in self.archives:
            docker("exec", node, *take, "--no-unpack", inside)
        if self.references:
            run_kind(["load", "docker-image", *self.references])


def release_images(minor: str) -> ReleaseImages:
    """Return the release's images: in a checkout those of its sources, and no others.

    Raises
    ------
    ImageMissingError
        One is not built, nor was it pulled.
    """
    wanted = [one for one in recipes(minor).values() if one.group == "release"]
    try:
        archives = {f"{_INSIDE}/{one.name}.tar": built_archive(one) for one in wanted}
    except RecipesMissingError:
        for recipe in wanted:
            if not image_id(recipe.reference):
                raise ImageMissingError(recipe) from None
        return ReleaseImages(references=[one.reference for one in wanted])
    return ReleaseImages({inside: one.file for inside, one in archives.items()})
