"""What `stowage report` shows of a bundle, by the kind of the bundle."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.compare import page, tables
from stowage_testbed.compare.bundle import HEAD, read_finished
from stowage_testbed.report.saved import read_run
from stowage_testbed.report.showing import MARKDOWN, write_markdown, write_screen
from stowage_testbed.text.markdown import append_step_summary

STDOUT = Path("-")


def is_comparison(folder: Path) -> bool:
    """Return whether a folder is the bundle of a comparison."""
    return (folder / HEAD).is_file()


def refuse_options(given: Mapping[str, object], folder: Path, what: str) -> None:
    """Refuse options that are of no use for what a folder holds.

    Raises
    ------
    InputError
        One of them is given.
    """
    for option, value in given.items():
        if value:
            raise InputError(f"{folder} holds {what}; remove {option}")


def show_run(folder: Path, markdown: Path | None) -> None:
    """Show a run.

    Raises
    ------
    InputError
        As `read_run` says.
    """
    run = read_run(folder)
    text = write_markdown(run)
    append_step_summary(text, os.environ)
    target = markdown or folder / MARKDOWN
    _show(text, write_screen(run), target, [target])


def show_comparison(folder: Path, *, html: Path | None, markdown: Path | None, whole: bool) -> None:
    """Show a comparison, also an interrupted one; errors as of `read_finished`."""
    comparison = read_finished(folder)
    target = markdown or folder / page.MARKDOWN
    written = [html or folder / page.HTML, target]
    write_whole(written[0], page.page(comparison))
    append_step_summary(tables.comparison_markdown(comparison, whole=False), os.environ)
    text = tables.comparison_markdown(comparison, whole=True)
    _show(text, tables.screen(comparison, whole=whole), target, written)


def _show(text: str, screen: str, markdown: Path, written: Sequence[Path]) -> None:
    """Print the text itself, or write it and print what fits on a screen."""
    if markdown == STDOUT:
        typer.echo(text, nl=False)
        return
    write_whole(markdown, text)
    typer.echo(screen)
    typer.echo("written: " + ", ".join(str(path) for path in written))
