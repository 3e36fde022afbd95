"""`stowage report`: what a run, comparison or reproduction found; no cluster."""

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
    from stowage_testbed.compare import page, tables  # noqa: PLC0415
    from stowage_testbed.compare.comparison import HEAD, read_finished  # noqa: PLC0415
    from stowage_testbed.report.showing import MARKDOWN, write_markdown, write_screen  # noqa: PLC0415
    from stowage_testbed.run.outcome import read_run  # noqa: PLC0415

    compared, sweep = (bundle / HEAD).is_file(), (bundle / "sweep.json").is_file()
    for option, given in {"--all": whole, "--markdown": sweep and markdown}.items():
        if given and not compared:
            raise InputError(f"{bundle} holds {'a sweep' if sweep else 'a run'}; remove {option}")
    written = list[Path]()
    if compared:
        comparison = read_finished(bundle)
        written.append(bundle / page.HTML)
        write_whole(bundle / page.HTML, page.page(comparison))
        summary = tables.comparison_markdown(comparison, whole=False)
        text = tables.comparison_markdown(comparison, whole=True)
        screen = tables.screen(comparison, whole=whole)
        file = markdown or bundle / page.MARKDOWN
    elif sweep:
        show_sweep(bundle)
        return
    else:
        run = read_run(bundle)
        text = summary = write_markdown(run)
        screen = write_screen(run)
        file = markdown or bundle / MARKDOWN
    append_step_summary(summary, os.environ)
    if file == Path("-"):
        typer.echo(text, nl=False)
        return
    write_whole(file, text)
    typer.echo(screen)
    typer.echo("written: " + ", ".join(map(str, (*written, file))))
