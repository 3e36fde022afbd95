"""What `stowage report` shows of a bundle, by the kind of the bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.compare import reports
from stowage_testbed.compare.bundle import HEAD
from stowage_testbed.errors import InputError
from stowage_testbed.report.saved import read_run
from stowage_testbed.report.showing import MARKDOWN, run_markdown, run_screen
from stowage_testbed.text.markdown import append_step_summary
from stowage_testbed.whole_file import write_whole

STDOUT = Path("-")


@dataclass(frozen=True, slots=True)
class Shown:
    """A bundle in words.

    Attributes
    ----------
    markdown
        Everything.
    summary
        What of it goes to the summary of a CI step.
    screen
        For a terminal.
    written
        The files that were written.
    """

    markdown: str
    summary: str
    screen: str
    written: tuple[Path, ...]

    def summarise(self, environment: Mapping[str, str]) -> None:
        """Append to the summary of the CI step, if there is one."""
        append_step_summary(self.summary, environment)


def is_comparison(folder: Path) -> bool:
    """Return whether a folder is the bundle of a comparison."""
    return (folder / HEAD).is_file()


def of_run(folder: Path, markdown: Path | None, unfit: Sequence[str]) -> Shown:
    """Write what is shown of a run.

    Parameters
    ----------
    unfit
        Options that were given, and that only a comparison has a use for.

    Raises
    ------
    InputError
        As `read_run` says, or there are such options.
    """
    run = read_run(folder)
    if unfit:
        raise InputError(
            f"{unfit[0]} is for comparisons, and {folder} holds a run: leave it out"
        )
    text = run_markdown(run)
    written = _written(text, markdown or folder / MARKDOWN)
    return Shown(text, text, run_screen(run), written)


def of_comparison(
    folder: Path,
    *,
    html: Path | None,
    markdown: Path | None,
    plots: Path | None,
    whole: bool,
) -> Shown:
    """Write what is shown of a comparison, also of an interrupted one.

    Raises
    ------
    InputError
        As `reports.read_result` says.
    """
    result = reports.read_result(folder)
    page = html or folder / reports.HTML
    reports.write_html(result, page)
    text = reports.comparison_markdown(result, whole=True)
    written = (page, *_written(text, markdown or folder / reports.MARKDOWN))
    if plots is not None:
        from stowage_testbed.compare.plots import draw_pictures  # noqa: PLC0415

        draw_pictures(result, plots)
        written = (*written, plots)
    return Shown(
        markdown=text,
        summary=reports.comparison_markdown(result, whole=False),
        screen=reports.screen(result, whole=whole),
        written=written,
    )


def _written(text: str, path: Path) -> tuple[Path, ...]:
    if path == STDOUT:
        return ()
    write_whole(path, text)
    return (path,)
