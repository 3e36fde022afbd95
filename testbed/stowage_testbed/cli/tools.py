"""`stowage tools`, `images` and `doctor`: what is installed and built here, and which clusters work with it."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer
from tabulate import tabulate

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import FAILED, app
from stowage_testbed.cli.options import AsJson, Minor
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.images.docker_engine import check_engine, image_id
from stowage_testbed.images.recipe import build_image, is_published, recipe_of, recipes
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.run.request import SIMULATOR, install_needed
from stowage_testbed.toolchain import choose_minor, install_tools, tool_path
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, load_manifest
from stowage_testbed.toolchain.progress import saying_for_how_long
from stowage_testbed.toolchain.release import choose_source

tools = typer.Typer(no_args_is_help=True, help="Install and find the pinned tools.")
app.add_typer(tools, name="tools")
images = typer.Typer(no_args_is_help=True, help="Build the container images.")
app.add_typer(images, name="images")


class Use(StrEnum):
    """A command, for which tools are installed."""

    RUN = "run"
    TRY = "try"
    COMPARE = "compare"
    SIMULATE = "simulate"
    WHATIF = "whatif"


_RUN = TOOLS[Backend.KWOK_BINARY]
_USED = {
    Use.RUN: _RUN,
    Use.TRY: _RUN,
    Use.COMPARE: (*_RUN, "kube-scheduler"),
    Use.SIMULATE: (SIMULATOR,),
    Use.WHATIF: (SIMULATOR,),
}
"""What a command cannot do without; the compared schedulers have groups."""


@tools.command()
def install(
    names: Annotated[list[str] | None, typer.Argument(help="Which tools; else those of the group.")] = None,
    *,
    group: Annotated[str | None, typer.Option(help="Install the tools of this group.")] = None,
    use: Annotated[Use | None, typer.Option("--for", help="Install what this command needs.")] = None,
    kubernetes: Minor = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing if nothing is missing.")] = False,
) -> None:
    """Install missing tools side by side, and compile the optimiser.

    $STOWAGE_SOURCE and $STOWAGE_MIRROR decide where tools come from. A terminal shows one line that is renewed; a file
    or a pipe gets a line every few seconds.
    """
    if sum(map(bool, (names, group, use))) > 1:
        raise StowageError("name tools, a group with --group, or a command with --for")
    choose_source()  # a wrong one is told before anything is compiled
    # Else a build would go on that nobody waits for.
    with ending_cleanly(), ThreadPoolExecutor(1) as pool:
        compiling = None if names or group else pool.submit(compile_optimizer)
        asked = _USED[use] if use else names
        installed = install_tools(asked, minor=kubernetes, group=group or DEFAULT_GROUP)
        if compiling is not None:
            compiling.result()
    if not quiet:
        typer.echo(f"{len(installed)} tools are installed")


@tools.command(name="list")
def list_tools() -> None:
    """List every tool: version, minor of Kubernetes, group, and whether it is installed."""
    for tool in load_manifest().all_tools:
        there = "installed" if binary_file(tool).is_file() else "missing"
        of = tool.minor or "-"
        typer.echo(f"{tool.name:24} {tool.version:10} {of:5} {tool.group:10} {there}")


@tools.command()
def path(name: Annotated[str, typer.Argument(help="The tool's name.")]) -> None:
    """Print the path of an installed tool."""
    typer.echo(tool_path(name, choose_minor(None)))


@images.command()
def build(
    names: Annotated[list[str] | None, typer.Argument(help="Which images; else those of the release.")] = None,
    *,
    base: Annotated[str, typer.Option(help="Python image to build on instead of the own one.")] = "",
    unless_published: Annotated[
        bool, typer.Option("--unless-published", help="Skip an image if the engine can pull an equivalent one.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list all images.")] = False,
    kubernetes: Minor = None,
) -> None:
    """Build the images that the Docker engine does not have of these sources yet."""
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
        if needed := (*recipe.tools, *recipe.tools_as_images):
            install_needed(*needed, minor=minor, optimizer=False)
        with saying_for_how_long(f"stowage: building image {recipe.reference}"):
            build_image(recipe, base if recipe.base else "")
        typer.echo(f"{recipe.reference}: {image_id(recipe.reference)[:23]}")


@app.command()
def doctor(
    backends: Annotated[list[Backend] | None, typer.Argument(help="Which kinds; else all.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show which kinds of cluster work here, and what the others lack.

    Exits with 1 if one that you named does not, or if none works.
    """
    from stowage_testbed.cluster.choice import fitness_of  # noqa: PLC0415 - only here

    found = [fitness_of(one) for one in backends or list(Backend)]
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=2))
    else:
        for one in found:
            word = "does not work here" if one.unavailable_reasons else "works"
            typer.echo(f"{one.backend}: {word}")
            for reason in one.unavailable_reasons:
                typer.echo(f"  - {reason}")
            for note in one.notes:
                typer.echo(f"    {note}")
    fit = [one for one in found if not one.unavailable_reasons]
    if len(fit) < len(found) if backends else not fit:
        raise typer.Exit(FAILED)
