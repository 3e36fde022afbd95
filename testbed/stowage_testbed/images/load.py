"""Bringing a built image into the Docker engine."""

from __future__ import annotations

from contextlib import suppress

from stowage_testbed.docker.engine import (
    DockerCommandError,
    docker,
    engine_unavailable_reason,
    image_id,
)
from stowage_testbed.images.archive import Archive
from stowage_testbed.images.recipe import Recipe

PULL_TIMEOUT_S = 900.0


def load_image(archive: Archive) -> bool:
    """Load an image unless the engine has that very one; return whether it was needed.

    Raises
    ------
    DockerCommandError, EngineUnreachableError
        The engine does not take it.
    """
    before = image_id(archive.recipe.reference)
    if before == f"sha256:{archive.image_id}":
        return False
    docker("load", "--quiet", "--input", str(archive.file))
    if before:
        # It would never be used again, and it may be a gigabyte.
        with suppress(DockerCommandError):
            docker("image", "rm", before)
    return True


def is_published(recipe: Recipe) -> bool:
    """Return whether the engine has, or can pull, the image that does the same.

    Raises
    ------
    EngineUnreachableError
        The pull hangs.
    """
    if not recipe.published or engine_unavailable_reason():
        return False
    if image_id(recipe.published):
        return True
    try:
        docker("pull", "--quiet", recipe.published, timeout_s=PULL_TIMEOUT_S)
    except DockerCommandError:
        return False
    return True
