"""Where the recipes of the images are: in a checkout, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.images.errors import RecipesMissingError

RECIPES = Path("ci") / "images"


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
