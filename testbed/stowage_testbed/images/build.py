"""Building an image with buildah, and listing its parts with syft."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.images.archive import Archive, archive_of
from stowage_testbed.images.command import check_builders, run
from stowage_testbed.images.content import source_epoch, source_revision
from stowage_testbed.images.contexts import prepare
from stowage_testbed.images.recipe import Recipe, recipe_of, recipes_home
from stowage_testbed.toolchain import tool_path

LISTER = "syft"
"""The tool that lists an image's parts."""


def build_image(recipe: Recipe, *, base: str = "", again: bool = False) -> Archive:
    """Build an image unless it is there already, with what it is built on.

    Parameters
    ----------
    base
        Image to build on, which an engine or registry has; the recipe's own without.
    again
        Build it even if it is there.

    Raises
    ------
    RecipesMissingError
        This is no checkout.
    StowageError
        A program is not installed, or a step failed.
    """
    checkout = recipes_home()
    check_builders()
    archive = archive_of(recipe, base)
    if archive.file.is_file() and not again:
        return archive
    under = None
    if recipe.base and not base:
        under = build_image(recipe_of(recipe.base))
    with _store(archive) as store:
        store.build(recipe, checkout, under, base)
        draft = store.export(archive)
        _list_parts(recipe, draft, archive.parts)
        _forget_others(archive)
        draft.rename(archive.file)
    return archive


@dataclass(frozen=True, slots=True)
class _Store:
    """Where buildah keeps one build, gone with it."""

    folder: Path

    def build(self, recipe: Recipe, checkout: Path, under: Archive | None, base: str) -> None:
        epoch = source_epoch(recipe, checkout)
        context = self.folder / "context"
        context.mkdir()
        prepare(recipe, checkout, context, epoch)
        revision = source_revision(recipe, checkout)
        arguments = {"VERSION": recipe.tag, "REVISION": revision}
        if under is not None:
            self._run(recipe.name, "pull", "--quiet", f"docker-archive:{under.file}")
            base = f"localhost/{under.recipe.reference}"
        if base:
            arguments["BASE"] = base
        options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        # No container runtime: what steps there are run as the image's own programs.
        limits = ["--isolation=chroot", "--network=host", f"--timestamp={epoch}"]
        self._run(
            recipe.name,
            "build",
            *limits,
            *options,
            f"--build-arg=SOURCE_DATE_EPOCH={epoch}",
            f"--tag={recipe.reference}",
            str(context),
        )

    def export(self, archive: Archive) -> Path:
        """Write the image into a draft of the archive, and return that."""
        draft = archive.file.with_suffix(".part")
        draft.unlink(missing_ok=True)
        reference = archive.recipe.reference
        target = f"docker-archive:{draft}:{reference}"
        self._run(archive.recipe.name, "push", "--quiet", reference, target)
        return draft

    def remove_containers(self) -> None:
        self._run("store", "rm", "--all")

    def _run(self, image: str, *arguments: str) -> None:
        images, state = self.folder / "images", self.folder / "run"
        own = [f"--root={images}", f"--runroot={state}", "--storage-driver=overlay"]
        run(image, ["buildah", *own, *arguments])


@contextmanager
def _store(archive: Archive) -> Iterator[_Store]:
    archive.file.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="build-", dir=layout.images_folder()))
    store = _Store(folder)
    try:
        yield store
    finally:
        store.remove_containers()
        shutil.rmtree(folder, ignore_errors=True)


def _list_parts(recipe: Recipe, archive: Path, target: Path) -> None:
    scan = [str(tool_path(LISTER)), "scan", "--quiet", f"docker-archive:{archive}"]
    names = ["--source-name", recipe.repository, "--source-version", recipe.tag]
    quiet = {"SYFT_CHECK_FOR_APP_UPDATE": "false"}
    run(recipe.name, [*scan, *names, "--output", f"spdx-json={target}"], quiet)


def _forget_others(archive: Archive) -> None:
    for file in archive.file.parent.glob("*.*"):
        if file.name.split(".")[0] != archive.file.name.split(".")[0]:
            file.unlink()
