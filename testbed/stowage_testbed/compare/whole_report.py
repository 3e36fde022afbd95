"""The page, the tables and the pictures of a comparison, in its own folder."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.compare.plots.pictures import draw_pictures
from stowage_testbed.compare.reports import HTML, MARKDOWN, write_html, write_markdown
from stowage_testbed.compare.result import Result

PLOTS = "plots"


def write_whole_report(result: Result, folder: Path) -> Path:
    """Write them beside the records that they are made from; return the page."""
    page = folder / HTML
    write_html(result, page)
    write_markdown(result, folder / MARKDOWN)
    draw_pictures(result, folder / PLOTS)
    return page
