"""A built image as a file, its parts listed beside it; brought into an engine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.images.content import content_key
from stowage_testbed.images.docker_archive import read_manifest
from stowage_testbed.images.docker_engine import DockerCommandError, docker, engine_unavailable_reason, image_id
from stowage_testbed.images.recipe import Recipe, recipes_home


class ImageMissingError(StowageError):
    """An image is not there."""

    def __init__(self, recipe: Recipe) -> None:
        of = f" --kubernetes {recipe.minor}" if recipe.minor else ""
        super().__init__(
            f"there is no image {recipe.reference}; in a checkout run: stowage images "
            f"build {recipe.name}{of} (`make images` builds all)"
        )


@dataclass(frozen=True, slots=True)
class Archive:
    """What `docker load` takes: a file called after the key of the image's content."""

    recipe: Recipe
    file: Path

    @property
    def parts(self) -> Path:
        """The list of its parts, in SPDX."""
        return self.file.with_suffix(".spdx.json")

    @property
    def size_bytes(self) -> int:
        """Size of the file, which is not compressed."""
        return self.file.stat().st_size

    @property
    def image_id(self) -> str:
        """The image's digest: of its configuration, which has those of its layers."""
        return str(read_manifest(self.file)["Config"]).removesuffix(".json")


def archive_of(recipe: Recipe, base: str = "") -> Archive:
    """Return where the archive of an image is, built or not.

    Raises
    ------
    RecipesMissingError
        This is no checkout, so the commit is unknown.
    """
    key = content_key(recipe, recipes_home(), base)
    return Archive(recipe, layout.images_folder() / recipe.name / f"{key}.tar")


def built_archive(recipe: Recipe, base: str = "") -> Archive:
    """Return the archive of an image.

    Raises
    ------
    ImageMissingError
        It is not built, or of other sources.
    """
    archive = archive_of(recipe, base)
    if not archive.file.is_file():
        raise ImageMissingError(recipe)
    return archive


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
