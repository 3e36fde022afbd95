"""`stowage tools`: install, list and find the pinned tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.toolchain import choose_minor, install_tools, tool_path
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, load_manifest
from stowage_testbed.toolchain.release import Release, read_release

tools = typer.Typer(no_args_is_help=True, help="Install and find the pinned tools.")
app.add_typer(tools, name="tools")


Source = Literal["go", "release"]


@tools.command()
def install(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Which tools; those of the group without."),
    ] = None,
    *,
    group: Annotated[
        str | None, typer.Option(help="Install the tools of this group.")
    ] = None,
    source: Annotated[
        Source, typer.Option(help="Build with Go, or fetch official archives.")
    ] = "go",
    pins: Annotated[
        Path | None,
        typer.Option(help="Digests of the archives: lines of SHA-256 and address."),
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="A server with the archives under /HOST/PATH.")
    ] = None,
    kubernetes: Minor = None,
    quiet: Annotated[bool, typer.Option(help="Draw no progress bars.")] = False,
) -> None:
    """Install the tools that are not there yet, and compile the optimiser."""
    if names and group:
        raise StowageError("name tools or a group with --group, not both")
    release = _release(source, pins, mirror)
    installed = install_tools(
        names,
        minor=kubernetes,
        group=group or DEFAULT_GROUP,
        release=release,
        quiet=quiet,
    )
    if not names and not group:
        compile_optimizer()
    if not quiet:
        typer.echo(f"{len(installed)} tools are installed")


@tools.command(name="list")
def list_tools() -> None:
    """List every tool: its version, of which Kubernetes, its group, if installed."""
    for tool in load_manifest().all_tools:
        there = "installed" if binary_file(tool).is_file() else "missing"
        of = tool.minor or "-"
        typer.echo(f"{tool.name:24} {tool.version:10} {of:5} {tool.group:10} {there}")


@tools.command()
def path(
    name: Annotated[str, typer.Argument(help="The tool's name.")],
    *,
    kubernetes: Minor = None,
) -> None:
    """Print the path of an installed tool."""
    typer.echo(tool_path(name, choose_minor(kubernetes)))


def _release(source: Source, pins: Path | None, mirror: str | None) -> Release | None:
    if source == "go":
        if pins or mirror:
            raise _wrong("--pins and --mirror are for --source release")
        return None
    if pins is None:
        raise _wrong("--source release needs the archives' digests")
    return read_release(pins, mirror)


def _wrong(issue: str) -> StowageError:
    return StowageError(
        f"{issue}; write --source release --pins FILE, or leave all three out"
    )
