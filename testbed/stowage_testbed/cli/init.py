"""`stowage init`: write the first files of a project that tests its scheduling."""

from importlib import metadata, resources
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app
from stowage_testbed.cli.options import SCENARIOS
from stowage_testbed.scenario.schema import SCHEMA_FILE, make_starter, write_editor_schema, write_starter

SCENARIO = "web/scale-up"
SCENARIO_FILE = SCENARIOS / f"{SCENARIO}.yaml"
TEST_FILE = Path("tests") / "test_scheduling.py"
WORKFLOW_FILE = Path(".github") / "workflows" / "stowage.yaml"


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="The root of your repository.", metavar="[FOLDER]")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    scenario: Annotated[
        str | None, typer.Option(help="Write only a first scenario, named by topic and behaviour, as in web/scale-up.")
    ] = None,
) -> None:
    """Write a first scenario, a test that uses the fixtures, and a GitHub workflow.

    Exits with 2 if a file exists already; nothing is written then.
    """
    if scenario is not None:
        typer.echo(f"wrote {write_starter(scenario, folder / SCENARIOS)}")
        if not (folder / SCENARIOS / SCHEMA_FILE).exists():
            typer.echo(f"editors complete it with: stowage scenario schema > {folder / SCENARIOS / SCHEMA_FILE}")
        return
    for file in write_project(folder, force=force):
        typer.echo(f"wrote {file}")
    typer.echo("next:")
    if folder != Path():
        typer.echo(f"  cd {folder}")
    typer.echo("  stowage tools install             # once; builds what a cluster needs")
    typer.echo(f"  stowage scenario explain {SCENARIO_FILE}")
    typer.echo(f"  stowage run {SCENARIO_FILE}")
    typer.echo(f"  pytest {TEST_FILE}")


def write_project(folder: Path, *, force: bool = False) -> list[Path]:
    """Write the files to the root of a repository, and return them in the order in which one reads them.

    With ``force`` existing files are overwritten; without, an InputError names each of them, and nothing is written.
    """
    texts = {
        folder / SCENARIO_FILE: make_starter(SCENARIO),
        folder / SCENARIOS / SCHEMA_FILE: write_editor_schema(),
        folder / TEST_FILE: _template("test_scheduling.py.txt"),
        folder / WORKFLOW_FILE: _template("workflow.yaml"),
    }
    there = [file for file in texts if file.exists()]
    if there and not force:
        listed = "\n".join(f"  {file}" for file in there)
        raise InputError(
            f"these files are in the way, and nothing was written:\n{listed}\n"
            "move them, name another folder, or overwrite them with --force"
        )
    for file, text in texts.items():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        except OSError as error:
            raise InputError(f"cannot write {file}: {error.strerror}; name a folder that can be written to") from error
    return list(texts)


def _template(name: str) -> str:
    text = resources.files(__package__).joinpath("templates", name).read_text("utf-8")
    text = text.replace("SCENARIO", str(SCENARIO_FILE))
    return text.replace("VERSION", metadata.version("stowage"))
