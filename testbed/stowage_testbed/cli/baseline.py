"""`stowage baseline`: keep a comparison's figures, hold a later one against them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app

baseline_app = typer.Typer(
    name="baseline", help="Keep a comparison's figures, and hold a later one against them.", no_args_is_help=True
)
app.add_typer(baseline_app)

Bundle = Annotated[Path, typer.Argument(help="Folder of a comparison, with its compare.json.")]
File = Annotated[Path, typer.Argument(help="The baseline file.")]


@baseline_app.command()
def save(bundle: Bundle, file: File) -> None:
    """Write a comparison's headline metrics and its machine's speed to a small file."""
    from stowage_testbed.compare.baseline.document import (  # noqa: PLC0415 - numpy
        baseline_of,
        save_baseline,
    )
    from stowage_testbed.compare.reports import read_result  # noqa: PLC0415

    kept = baseline_of(read_result(bundle))
    save_baseline(kept, file)
    typer.echo(f"{len(kept.series)} metrics of {kept.scenario_id} kept in {file}")


@baseline_app.command()
def check(bundle: Bundle, file: File) -> None:
    """Say what has become better or worse since a baseline was saved.

    Times are scaled by the machines' speed. Exits with 0, with 1 if a metric is worse
    or missing or a run failed, with 2 if the input is at fault.
    """
    from stowage_testbed.compare.baseline import checking  # noqa: PLC0415 - numpy
    from stowage_testbed.compare.baseline.document import (  # noqa: PLC0415
        baseline_of,
        load_baseline,
    )
    from stowage_testbed.compare.baseline.table import check_table  # noqa: PLC0415
    from stowage_testbed.compare.reports import read_result  # noqa: PLC0415
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415

    before = load_baseline(file)
    found = checking.check(file, before, baseline_of(read_result(bundle)))
    typer.echo(terminal_text([check_table(found)]))
    raise typer.Exit(0 if found.holds else 1)
