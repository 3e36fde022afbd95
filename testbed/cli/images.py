"""`stowage images`: build the container images, and bring them into an engine."""

from __future__ import annotations

from typing import Annotated

import typer
from tabulate import tabulate

from testbed.cli.main import app
from testbed.docker.engine import check_engine
from testbed.images.archive import Archive, built_archive
from testbed.images.build import build_image
from testbed.images.load import is_published, load_image
from testbed.images.recipe import Recipe, recipe_of, recipes

images = typer.Typer(no_args_is_help=True, help="Build and load the container images.")
app.add_typer(images, name="images")

Names = Annotated[
    list[str] | None, typer.Argument(help="Which; those of the release without.")
]
Base = Annotated[
    str, typer.Option(help="Python image to build on, instead of one of our own.")
]
_MEGA = 1_000_000


@images.command()
def build(
    names: Names = None,
    *,
    base: Base = "",
    unless_published: Annotated[
        bool,
        typer.Option(
            "--unless-published",
            help="Leave one out if an engine can pull what does the same.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option(help="Build also what is there, and compare the two.")
    ] = False,
) -> None:
    """Build images that are not there yet; no Docker is needed for that."""
    for recipe in _chosen(names):
        if unless_published and is_published(recipe):
            typer.echo(f"{recipe.reference}: not needed, there is {recipe.published}")
            continue
        on = base if recipe.base else ""
        before = _id_before(recipe, on) if again else ""
        archive = build_image(recipe, base=on, again=again)
        typer.echo(_line(archive))
        if before:
            same = before == archive.image_id
            verdict = "the same digest" if same else f"another digest: {before[:16]}"
            typer.echo(f"  built again: {verdict}")


@images.command()
def load(names: Names = None, *, base: Base = "") -> None:
    """Bring built images into the Docker engine."""
    check_engine()
    for recipe in _chosen(names):
        archive = built_archive(recipe, base if recipe.base else "")
        word = "loaded" if load_image(archive) else "there already"
        typer.echo(f"{recipe.reference}: {word}")


@images.command(name="list")
def list_() -> None:
    """List all images, built or not."""
    rows = [
        (recipe.name, recipe.reference, recipe.group) for recipe in recipes().values()
    ]
    typer.echo(tabulate(rows, headers=("image", "name", "group")))


def _chosen(names: list[str] | None) -> list[Recipe]:
    if names:
        return [recipe_of(name) for name in names]
    return [recipe for recipe in recipes().values() if recipe.group == "release"]


def _id_before(recipe: Recipe, base: str) -> str:
    return build_image(recipe, base=base).image_id


def _line(archive: Archive) -> str:
    return (
        f"{archive.recipe.reference}: {archive.size_bytes / _MEGA:.1f} MB, "
        f"sha256:{archive.image_id[:16]}, parts in {archive.parts}"
    )
