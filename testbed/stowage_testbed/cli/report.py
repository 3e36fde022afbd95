"""`stowage report`: what a run or a comparison found, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app


@app.command()
def report(
    bundle: Annotated[Path, typer.Argument(help="Folder of a run or a comparison: with run.json or compare.json.")],
    *,
    whole: Annotated[bool, typer.Option("--all", help="List all metrics of a comparison, also quiet ones.")] = False,
    html: Annotated[Path | None, typer.Option(help="Where a comparison's page goes, else report.html in it.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Where the tables go, else report.md in the bundle; - is standard output.")
    ] = None,
) -> None:
    """Rebuild all that is shown of a run or a comparison, also of an interrupted one.

    In GitHub Actions the tables go to the step's summary too. Exits with 0, or with 2
    if the bundle is at fault.
    """
    # numpy and Jinja take a second that other commands do not need.
    from stowage_testbed.cli import reporting  # noqa: PLC0415

    if reporting.is_comparison(bundle):
        reporting.show_comparison(bundle, html=html, markdown=markdown, whole=whole)
    else:
        given = {"--all": whole, "--html": html}
        unfit = [option for option, value in given.items() if value]
        reporting.show_run(bundle, markdown, unfit)
