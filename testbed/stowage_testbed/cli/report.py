"""`stowage report`: what a run, comparison or reproduction found; no cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.cli.main import app


@app.command()
def report(
    bundle: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run, a comparison or a reproduction: with run.json, compare.json or sweep.json."
        ),
    ],
    *,
    whole: Annotated[bool, typer.Option("--all", help="List all metrics of a comparison, also quiet ones.")] = False,
    html: Annotated[Path | None, typer.Option(help="Where a comparison's page goes, else report.html in it.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Where the tables go, else report.md in the bundle; - is standard output.")
    ] = None,
) -> None:
    """Rebuild all that is shown of results, also of an interrupted run.

    In GitHub Actions the tables go to the step's summary too. Exits with 0, or with 2
    if the bundle is at fault.
    """
    # numpy and Jinja take a second that other commands do not need.
    from stowage_testbed.cli import reporting  # noqa: PLC0415
    from stowage_testbed.reproduce.sweep.folder import HEADER  # noqa: PLC0415

    if reporting.is_comparison(bundle):
        reporting.show_comparison(bundle, html=html, markdown=markdown, whole=whole)
        return
    given: dict[str, object] = {"--all": whole, "--html": html}
    if (bundle / HEADER).is_file():
        from stowage_testbed.cli.reproducing import show_sweep  # noqa: PLC0415 - as above

        given["--markdown"] = markdown
        reporting.refuse_options(given, bundle, "a sweep")
        show_sweep(bundle)
    else:
        reporting.refuse_options(given, bundle, "a run")
        reporting.show_run(bundle, markdown)
