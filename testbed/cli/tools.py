"""`stowage tools`: install, list and find the pinned tools."""

from __future__ import annotations

from typing import Annotated

import typer

from testbed.cli.main import app
from testbed.toolchain import install_tools, tool_path

tools = typer.Typer(no_args_is_help=True, help="Install and find the pinned tools.")
app.add_typer(tools, name="tools")


@tools.command()
def install(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which tools; all without.")
    ] = None,
    *,
    quiet: Annotated[bool, typer.Option(help="Draw no progress bars.")] = False,
) -> None:
    """Install the tools that are not there yet."""
    installed = install_tools(names, quiet=quiet)
    if not quiet:
        typer.echo(f"{len(installed)} tools are installed")


@tools.command(name="list")
def list_tools() -> None:
    """List every tool with its version and whether it is installed."""
    from testbed.toolchain.location import binary_file  # noqa: PLC0415 - quick start
    from testbed.toolchain.manifest import load_manifest  # noqa: PLC0415 - as above

    for tool in load_manifest().tools.values():
        there = "installed" if binary_file(tool).is_file() else "missing"
        typer.echo(f"{tool.name:24} {tool.version:10} {there}")


@tools.command()
def path(name: Annotated[str, typer.Argument(help="The tool's name.")]) -> None:
    """Print the path of an installed tool."""
    typer.echo(tool_path(name))
