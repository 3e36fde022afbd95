"""Which image a node of kind is started from."""

from __future__ import annotations

from testbed.docker.engine import docker, image_id
from testbed.docker.errors import DockerCommandError
from testbed.images.archive import built_archive
from testbed.images.errors import ImageMissingError, RecipesMissingError
from testbed.images.load import load_image
from testbed.images.recipe import recipe_of
from testbed.toolchain.manifest import load_manifest

PULL_TIMEOUT_S = 600.0
OURS = "node"


def node_image() -> str:
    """Return an image that the engine has: kind's own, or one of our making.

    Ours is looked for first, since it is there only where somebody had to build it.

    Raises
    ------
    ImageMissingError
        Neither is there, and kind's cannot be pulled.
    DockerError
        The engine is away.
    """
    recipe = recipe_of(OURS)
    try:
        load_image(built_archive(recipe))
        return recipe.reference
    except (ImageMissingError, RecipesMissingError):
        pass
    if image_id(recipe.reference):
        return recipe.reference
    published = f"kindest/node:{load_manifest().tool('kubelet').version}"
    if not image_id(published):
        try:
            docker("pull", "--quiet", published, timeout_s=PULL_TIMEOUT_S)
        except DockerCommandError as error:
            raise ImageMissingError(OURS, recipe.reference) from error
    return published
