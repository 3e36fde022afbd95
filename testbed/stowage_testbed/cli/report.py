"""`stowage report`: what a run, comparison or reproduction found; no cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cli.main import app
from stowage_testbed.text.tables import append_step_summary


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
    from stowage_testbed.compare.bundle import HEAD  # noqa: PLC0415

    if (bundle / HEAD).is_file():
        _show_comparison(bundle, html=html, markdown=markdown, whole=whole)
        return
    sweep = (bundle / "sweep.json").is_file()
    for option, given in {"--all": whole, "--html": html, "--markdown": sweep and markdown}.items():
        if given:
            raise InputError(f"{bundle} holds {'a sweep' if sweep else 'a run'}; remove {option}")
    if sweep:
        from stowage_testbed.cli.reproducing import show_sweep  # noqa: PLC0415 - as above

        show_sweep(bundle)
    else:
        _show_run(bundle, markdown)


def _show_run(folder: Path, markdown: Path | None) -> None:
    from stowage_testbed.report.showing import MARKDOWN, write_markdown, write_screen  # noqa: PLC0415
    from stowage_testbed.run.outcome import read_run  # noqa: PLC0415 - as above

    run = read_run(folder)
    text = write_markdown(run)
    append_step_summary(text, os.environ)
    target = markdown or folder / MARKDOWN
    _show(text, write_screen(run), target, [target])


def _show_comparison(folder: Path, *, html: Path | None, markdown: Path | None, whole: bool) -> None:
    """Show a comparison, also an interrupted one."""
    from stowage_testbed.compare import page, tables  # noqa: PLC0415 - as above
    from stowage_testbed.compare.bundle import read_finished  # noqa: PLC0415

    comparison = read_finished(folder)
    target = markdown or folder / page.MARKDOWN
    written = [html or folder / page.HTML, target]
    write_whole(written[0], page.page(comparison))
    append_step_summary(tables.comparison_markdown(comparison, whole=False), os.environ)
    text = tables.comparison_markdown(comparison, whole=True)
    _show(text, tables.screen(comparison, whole=whole), target, written)


def _show(text: str, screen: str, markdown: Path, written: Sequence[Path]) -> None:
    """Print the text itself, or write it and print what fits on a screen."""
    if markdown == Path("-"):
        typer.echo(text, nl=False)
        return
    write_whole(markdown, text)
    typer.echo(screen)
    typer.echo("written: " + ", ".join(str(path) for path in written))
