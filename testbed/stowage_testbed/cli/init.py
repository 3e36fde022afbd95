"""`stowage init`: begin a project that tests its scheduling."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app
from stowage_testbed.cli.scenario import SCENARIOS
from stowage_testbed.scenario.schema import SCHEMA_FILE, write_starter


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The root of your repository.", metavar="[FOLDER]")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Write only a scenario to start from, called by its topic and behaviour, as in web/scale-up."
        ),
    ] = None,
) -> None:
    """Write a first scenario, a test that uses the fixtures, and a GitHub workflow.

    Exits with 2 if a file is in the way; nothing is written then.
    """
    if scenario is not None:
        _write_scenario(scenario, folder / SCENARIOS)
        return
    from stowage_testbed.init.project import (  # noqa: PLC0415 - only this command needs it
        SCENARIO_FILE,
        TEST_FILE,
        write_project,
    )

    for file in write_project(folder, force=force):
        typer.echo(f"wrote {file}")
    typer.echo("next:")
    if folder != Path():
        typer.echo(f"  cd {folder}")
    typer.echo("  stowage tools install             # once; builds what a cluster needs")
    typer.echo(f"  stowage scenario explain {SCENARIO_FILE}")
    typer.echo(f"  stowage run {SCENARIO_FILE}")
    typer.echo(f"  pytest {TEST_FILE}")


def _write_scenario(name: str, folder: Path) -> None:
    typer.echo(f"wrote {write_starter(name, folder)}")
    if not (folder / SCHEMA_FILE).exists():
        typer.echo(f"editors complete it with: stowage scenario schema --write {folder / SCHEMA_FILE}")
