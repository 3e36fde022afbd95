"""Everything that is shown of a comparison, made from its folder alone."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.compare.bundle import read_bundle
from stowage_testbed.compare.html.page import page
from stowage_testbed.compare.result import Result, result_of
from stowage_testbed.compare.tables.all_tables import all_tables
from stowage_testbed.compare.tables.lead import overview
from stowage_testbed.text.markdown import escaped, markdown_text
from stowage_testbed.text.terminal import plain, terminal_text

HTML = "report.html"
MARKDOWN = "report.md"


def read_result(folder: Path) -> Result:
    """Return the comparison of a folder.

    Raises
    ------
    InputError
        There is none, it cannot be read, or no run is in it.
    """
    result = result_of(read_bundle(folder))
    if not result.records:
        raise InputError(f"{folder} holds no finished run yet; resume the comparison")
    return result


def screen(result: Result, *, whole: bool = False) -> str:
    """Return the tables for a terminal."""
    said = "\n".join(plain(line) for line in _overview(result))
    text = terminal_text(all_tables(result, whole=whole))
    text = "\n\n".join(part for part in (said, text) if part)
    if result.complete:
        return text
    return f"{text}\n\nThe comparison did not come to its end; this is what there is."


def comparison_markdown(result: Result, *, whole: bool) -> str:
    """Return every table as Markdown; ``whole`` lists every metric."""
    heading = f"# {escaped(result.comparison.scenario.scenario_id)}\n\n"
    broken = "" if result.complete else "**Did not come to its end.**\n\n"
    said = "".join(f"- {escaped(line)}\n" for line in _overview(result))
    return heading + said + "\n" + broken + markdown_text(all_tables(result, whole=whole))


def _overview(result: Result) -> list[str]:
    return [f"{one.text} ({one.arm}, {one.limits} client limits)" for one in overview(result)]


def write_whole_report(result: Result, folder: Path) -> Path:
    """Write page and tables beside their records; return the page's file."""
    write_whole(folder / HTML, page(result))
    write_whole(folder / MARKDOWN, comparison_markdown(result, whole=True))
    return folder / HTML
