"""`stowage report`: what a run, comparison or reproduction found; no cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import app
from stowage_testbed.cli.reproduce import show_sweep
from stowage_testbed.text.tables import append_step_summary


@app.command()
def report(
    bundle: Annotated[Path, typer.Argument(help="Folder with run.json, compare.json or sweep.json.")],
    *,
    whole: Annotated[bool, typer.Option("--all", help="List all metrics of a comparison, also quiet ones.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the tables to this file, else report.md in the bundle; - prints them.")
    ] = None,
) -> None:
    """Rebuild the reports of a run, a comparison or a reproduction, also of an interrupted one.

    In GitHub Actions the tables are also added to the step's summary. Exits with 2 if the bundle is at fault.
    """
    # numpy and Jinja take a second that other commands do not need.
    from stowage_testbed.compare.bundle import HEAD  # noqa: PLC0415

    if (bundle / HEAD).is_file():
        _show_comparison(bundle, markdown, whole=whole)
        return
    sweep = (bundle / "sweep.json").is_file()
    for option, given in {"--all": whole, "--markdown": sweep and markdown}.items():
        if given:
            raise InputError(f"{bundle} holds {'a sweep' if sweep else 'a run'}; remove {option}")
    if sweep:
        show_sweep(bundle)
    else:
        _show_run(bundle, markdown)


def _show_run(folder: Path, markdown: Path | None) -> None:
    from stowage_testbed.report.showing import MARKDOWN, write_markdown, write_screen  # noqa: PLC0415
    from stowage_testbed.run.outcome import read_run  # noqa: PLC0415 - as above

    run = read_run(folder)
    text = write_markdown(run)
    append_step_summary(text, os.environ)
    _show(text, write_screen(run), markdown or folder / MARKDOWN)


def _show_comparison(folder: Path, markdown: Path | None, *, whole: bool) -> None:
    from stowage_testbed.compare import page, tables  # noqa: PLC0415 - as above
    from stowage_testbed.compare.bundle import read_finished  # noqa: PLC0415

    comparison = read_finished(folder)
    html = folder / page.HTML
    write_whole(html, page.page(comparison))
    append_step_summary(tables.comparison_markdown(comparison, whole=False), os.environ)
    text = tables.comparison_markdown(comparison, whole=True)
    _show(text, tables.screen(comparison, whole=whole), markdown or folder / page.MARKDOWN, html)


def _show(text: str, screen: str, markdown: Path, *written: Path) -> None:
    """Print the text itself, or write it and print what fits on a screen."""
    if markdown == Path("-"):
        typer.echo(text, nl=False)
        return
    write_whole(markdown, text)
    typer.echo(screen)
    typer.echo("written: " + ", ".join(map(str, (*written, markdown))))
