"""Bringing a built image into the Docker engine."""

from __future__ import annotations

from testbed.docker.engine import docker, image_id
from testbed.images.archive import Archive


def load_image(archive: Archive) -> bool:
    """Load an image unless the engine has that very one; tell whether it was needed.

    Raises
    ------
    DockerCommandError, EngineUnreachableError
        The engine does not take it.
    """
    if image_id(archive.recipe.reference) == f"sha256:{archive.image_id}":
        return False
    docker("load", "--quiet", "--input", str(archive.file))
    return True
