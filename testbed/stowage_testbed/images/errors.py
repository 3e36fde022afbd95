"""What can go wrong with images, one class a cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowage_testbed.errors import StowageError


class RecipesMissingError(StowageError):
    """There are no recipes: this is no checkout."""

    def __init__(self) -> None:
        super().__init__(
            "images are built in a checkout of Stowage, and this is an installed "
            "package; pull those of its release instead"
        )


class UnknownImageError(StowageError):
    """A name is no image's."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no image {name!r}; there are {', '.join(known)}")


class BuilderMissingError(StowageError):
    """A program that builds images is not installed."""

    def __init__(self, programs: Sequence[str]) -> None:
        super().__init__(
            f"{' and '.join(programs)} not found; on Debian and Ubuntu: "
            f"apt-get install {' '.join(programs)}"
        )


class ImageBuildError(StowageError):
    """A step of a build failed."""

    def __init__(self, image: str, command: Sequence[str], tail: Sequence[str]) -> None:
        lines = "\n".join(f"  {line}" for line in tail)
        super().__init__(
            f"image {image}: {command[0]} failed; its last lines:\n{lines}"
        )


class ImageMissingError(StowageError):
    """An image is not there."""

    def __init__(self, image: str, tag: str) -> None:
        super().__init__(
            f"there is no image {tag}; in a checkout run: stowage images build {image} "
            "(`make images` builds all)"
        )
