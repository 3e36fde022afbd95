"""`stowage images`: build the container images."""

from __future__ import annotations

from typing import Annotated

import typer
from tabulate import tabulate

from stowage_testbed.cli.main import Minor, app
from stowage_testbed.images.build import build_image
from stowage_testbed.images.docker_engine import check_engine, image_id
from stowage_testbed.images.recipe import is_published, recipe_of, recipes
from stowage_testbed.run.tools import install_needed
from stowage_testbed.toolchain import choose_minor
from stowage_testbed.toolchain.progress import saying_for_how_long

images = typer.Typer(no_args_is_help=True, help="Build the container images.")
app.add_typer(images, name="images")


@images.command()
def build(
    names: Annotated[list[str] | None, typer.Argument(help="Which; those of the release without.")] = None,
    *,
    base: Annotated[str, typer.Option(help="Python image to build on, instead of one of our own.")] = "",
    unless_published: Annotated[
        bool, typer.Option("--unless-published", help="Leave one out if the engine can pull what does the same.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list all images, built or not.")] = False,
    kubernetes: Minor = None,
) -> None:
    """Build images that the Docker engine does not have of these sources yet."""
    minor = choose_minor(kubernetes)
    known = recipes(minor)
    if listing:
        rows = [(one.name, one.reference, one.group) for one in known.values()]
        typer.echo(tabulate(rows, headers=("image", "name", "group")))
        return
    chosen = [recipe_of(name, minor) for name in names or ()]
    check_engine()
    for recipe in chosen or [one for one in known.values() if one.group == "release"]:
        if unless_published and is_published(recipe):
            typer.echo(f"{recipe.reference}: not needed, there is {recipe.published}")
            continue
        if tools := (*recipe.tools, *recipe.tools_as_images):
            install_needed(*tools, minor=minor, optimizer=False)
        with saying_for_how_long(f"stowage: building image {recipe.reference}"):
            build_image(recipe, base if recipe.base else "")
        typer.echo(f"{recipe.reference}: {image_id(recipe.reference)[:23]}")
