"""What tests with containers share: an engine, or the reason why there is none."""

import pytest

from stowage_testbed.images.docker_engine import engine_unavailable_reason
from stowage_testbed.images.recipe import check_image, recipe_of


@pytest.fixture(scope="session", autouse=True)
def _engine() -> None:
    """Skip where no engine answers."""
    if reason := engine_unavailable_reason():
        pytest.skip(f"no Docker engine answers: {reason}")


@pytest.fixture(scope="session")
def optimizer_image() -> str:
    """Return the image that was built of these sources; `make images` builds it."""
    return _loaded("optimizer")


@pytest.fixture(scope="session")
def scheduler_image() -> str:
    """Return the image that was built of these sources, as above."""
    return _loaded("scheduler")


def _loaded(name: str) -> str:
    recipe = recipe_of(name)
    check_image(recipe)
    return recipe.reference
