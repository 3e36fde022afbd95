"""`stowage images`: build the container images, and load them into an engine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from tabulate import tabulate

from stowage_testbed.cli.main import Minor, app
from stowage_testbed.images.archive import Archive, built_archive, is_published, load_image
from stowage_testbed.images.build import LISTER, build_image
from stowage_testbed.images.docker_archive import differing_files
from stowage_testbed.images.docker_engine import check_engine
from stowage_testbed.images.recipe import Recipe, recipe_of, recipes
from stowage_testbed.run.tools import install_needed
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.progress import saying_for_how_long

images = typer.Typer(no_args_is_help=True, help="Build and load the container images.")
app.add_typer(images, name="images")

Names = Annotated[list[str] | None, typer.Argument(help="Which; those of the release without.")]
Base = Annotated[str, typer.Option(help="Python image to build on, instead of one of our own.")]
_MEGA = 1_000_000


@images.command()
def build(
    names: Names = None,
    *,
    base: Base = "",
    unless_published: Annotated[
        bool, typer.Option("--unless-published", help="Leave one out if an engine can pull what does the same.")
    ] = False,
    again: Annotated[bool, typer.Option(help="Build also what is there, and compare the two.")] = False,
    load: Annotated[bool, typer.Option("--load", help="Then load them into the Docker engine.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list all images, built or not.")] = False,
    kubernetes: Minor = None,
) -> None:
    """Build images that are not there yet; no Docker is needed for that."""
    minor = choose_minor(kubernetes)
    if listing:
        rows = [(one.name, one.reference, one.group) for one in recipes(minor).values()]
        typer.echo(tabulate(rows, headers=("image", "name", "group")))
        return
    if load:
        check_engine()
    for recipe in _chosen(names, minor):
        if unless_published and is_published(recipe):
            typer.echo(f"{recipe.reference}: not needed, there is {recipe.published}")
            continue
        on = base if recipe.base else ""
        tools = (*recipe.tools, *recipe.tools_as_images, LISTER)
        install_needed(*tools, minor=minor, optimizer=False)
        with saying_for_how_long(f"stowage: building image {recipe.reference}"):
            line = _built_twice(recipe, on) if again else _line(build_image(recipe, base=on))
        typer.echo(line)
        if load:
            word = "loaded" if load_image(built_archive(recipe, on)) else "there already"
            typer.echo(f"{recipe.reference}: {word}")


def _built_twice(recipe: Recipe, base: str) -> str:
    first = build_image(recipe, base=base)
    before = first.image_id
    with tempfile.TemporaryDirectory(dir=first.file.parent) as folder:
        kept = Path(folder) / "first.tar"
        kept.hardlink_to(first.file)
        second = build_image(recipe, base=base, again=True)
        if second.image_id == before:
            return f"{_line(second)}\n  built again: the same digest"
        differing = differing_files(kept, second.file) or ["its labels alone"]
    names = "\n".join(f"    {name}" for name in differing)
    return f"{_line(second)}\n  built again: another digest, as these differ:\n{names}"


def _chosen(names: list[str] | None, minor: str | None) -> list[Recipe]:
    if names:
        return [recipe_of(name, minor) for name in names]
    return [one for one in recipes(minor).values() if one.group == "release"]


def _line(archive: Archive) -> str:
    return (
        f"{archive.recipe.reference}: {archive.size_bytes / _MEGA:.1f} MB, "
        f"sha256:{archive.image_id[:16]}, parts in {archive.parts}"
    )
