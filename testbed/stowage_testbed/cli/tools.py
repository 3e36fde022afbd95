"""`stowage tools`: install, list and find the pinned tools."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.run.tools import SIMULATOR
from stowage_testbed.toolchain import choose_minor, install_tools, tool_path
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import DEFAULT_GROUP, load_manifest
from stowage_testbed.toolchain.release import MIRROR_VARIABLE, SOURCE_VARIABLE, SourceKind, choose_source

tools = typer.Typer(no_args_is_help=True, help="Install and find the pinned tools.")
app.add_typer(tools, name="tools")


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
    names: Annotated[list[str] | None, typer.Argument(help="Which tools; those of the group without.")] = None,
    *,
    group: Annotated[str | None, typer.Option(help="Install the tools of this group.")] = None,
    use: Annotated[Use | None, typer.Option("--for", help="Install what this command needs.")] = None,
    source: Annotated[
        SourceKind | None,
        typer.Option(
            help="Take official releases, build Go modules, or (auto) take what can "
            f"be reached and build the rest. Without it {SOURCE_VARIABLE} decides, "
            "else auto."
        ),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            help="A server that you trust, with archives and digests under "
            f"/HOST/PATH. Without it {MIRROR_VARIABLE} may name one."
        ),
    ] = None,
    kubernetes: Minor = None,
    quiet: Annotated[bool, typer.Option(help="Say nothing if nothing is missing.")] = False,
) -> None:
    """Install the tools that are not there yet, and compile the optimiser.

    What is missing is installed side by side. A terminal shows one line that is renewed, a file or a pipe gets a line
    every few seconds.
    """
    if sum(map(bool, (names, group, use))) > 1:
        raise StowageError("name tools, a group with --group, or a command with --for")
    chosen = choose_source(source, mirror)
    asked = _USED[use] if use else names
    # Else a build would go on that nobody waits for.
    with ending_cleanly(), ThreadPoolExecutor(1) as pool:
        compiling = None if names or group else pool.submit(compile_optimizer)
        installed = install_tools(asked, minor=kubernetes, group=group or DEFAULT_GROUP, source=chosen)
        if compiling is not None:
            compiling.result()
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
def path(name: Annotated[str, typer.Argument(help="The tool's name.")], *, kubernetes: Minor = None) -> None:
    """Print the path of an installed tool."""
    typer.echo(tool_path(name, choose_minor(kubernetes)))
