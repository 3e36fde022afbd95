"""Which image a node of kind is started from."""

from __future__ import annotations

from stowage_testbed.docker.engine import image_id
from stowage_testbed.images.archive import built_archive
from stowage_testbed.images.errors import ImageMissingError, RecipesMissingError
from stowage_testbed.images.load import is_published, load_image
from stowage_testbed.images.recipe import recipe_of

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
    if is_published(recipe):
        return recipe.published
    raise ImageMissingError(OURS, recipe.reference)
