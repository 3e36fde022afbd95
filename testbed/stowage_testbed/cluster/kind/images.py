"""The images of a node of kind: its own, and those of the release."""

from __future__ import annotations

from stowage_testbed.images.docker_engine import image_id
from stowage_testbed.images.recipe import ImageMissingError, check_image, is_published, recipe_of, recipes


def node_image(minor: str) -> str:
    """Return a node of a minor that the engine has: one of ours, which somebody had to build, or kind's own.

    Raises `ImageMissingError` if neither is there, and kind's cannot be pulled.
    """
    recipe = recipe_of("node", minor)
    if image_id(recipe.reference):
        return recipe.reference
    if is_published(recipe):
        return recipe.published
    raise ImageMissingError(recipe)


def release_images(minor: str) -> list[str]:
    """Return the release's images, in a checkout of its sources and no others; raises `ImageMissingError`."""
    wanted = [one for one in recipes(minor).values() if one.group == "release"]
    for recipe in wanted:
        check_image(recipe)
    return [recipe.reference for recipe in wanted]
