"""`stowage report`: tables, pictures and page of a comparison, without a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.main import app


@app.command()
def report(
    bundle: Annotated[
        Path, typer.Argument(help="Folder of a comparison, with its compare.json.")
    ],
    *,
    whole: Annotated[
        bool, typer.Option("--all", help="List every metric, also the quiet ones.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Where the page goes; left out, report.html in the bundle."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Where the tables go; left out, report.md in the bundle."),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for pictures, PNG and SVG.")
    ] = None,
) -> None:
    """Rebuild all that is shown of a comparison, also of an interrupted one.

    Exits with 0, or with 2 if the bundle is at fault.
    """
    # numpy, Jinja and the plots take a second that other commands do not need.
    from testbed.compare import reports  # noqa: PLC0415

    result = reports.read_result(bundle)
    page = html or bundle / reports.HTML
    tables = markdown or bundle / reports.MARKDOWN
    reports.write_html(result, page)
    reports.write_markdown(result, tables)
    reports.summarise_step(result, os.environ)
    typer.echo(reports.screen(result, whole=whole))
    written = [page, tables]
    if plots is not None:
        from testbed.compare.plots.pictures import draw_pictures  # noqa: PLC0415

        draw_pictures(result, plots)
        written.append(plots)
    typer.echo("written: " + ", ".join(str(path) for path in written))
