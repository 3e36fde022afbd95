"""The release's images, on the node before the release asks for them."""

from __future__ import annotations

from testbed.docker.engine import image_id
from testbed.images.archive import built_archive
from testbed.images.errors import ImageMissingError, RecipesMissingError
from testbed.images.load import load_image
from testbed.images.recipe import Recipe, recipes


def release_images() -> list[str]:
    """Return the release's images, which the engine then has.

    In a checkout they are those of its sources, and no others.

    Raises
    ------
    ImageMissingError
        One is not built, nor was it pulled.
    """
    wanted = [one for one in recipes().values() if one.group == "release"]
    for recipe in wanted:
        _bring(recipe)
    return [recipe.reference for recipe in wanted]


def _bring(recipe: Recipe) -> None:
    try:
        load_image(built_archive(recipe))
    except RecipesMissingError:
        if not image_id(recipe.reference):
            raise ImageMissingError(recipe.name, recipe.reference) from None
