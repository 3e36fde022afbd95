"""Tables as Markdown, for files, issues and the summary of a CI step."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from pathlib import Path

from stowage_testbed.text.table import Table
from stowage_testbed.text.terminal import plain

_MARKED = str.maketrans({one: f"\\{one}" for one in "\\`*_[]|#~"})


def markdown_text(tables: Iterable[Table]) -> str:
    """Return the tables under headings of the second level."""
    return "\n\n".join(_text(table) for table in tables) + "\n"


def _text(table: Table) -> str:
    parts = [f"## {escaped(table.title)}"]
    if table.rows:
        parts.append("\n".join(_lines(table)))
    parts += [f"<sub>{escaped(note)}</sub>" for note in table.notes]
    return "\n\n".join(parts)


def _lines(table: Table) -> Iterable[str]:
    yield _line(table.headers)
    yield _line(["---"] * len(table.headers), raw=True)
    for row in table.rows:
        yield _line(row)


def _line(cells: Iterable[str], *, raw: bool = False) -> str:
    return f"| {' | '.join(cell if raw else escaped(cell) for cell in cells)} |"


def escaped(text: str) -> str:
    """Return the text so that Markdown shows it as it is, in one line."""
    marked = html.escape(plain(text), quote=False).translate(_MARKED)
    return marked.replace("\n", "<br>")


VARIABLE = "GITHUB_STEP_SUMMARY"

MOST_BYTES = 1_000_000
"""GitHub takes one mebibyte a step, and drops the whole summary beyond it."""

CUT = "\n\nCut here: the summary of a step holds no more. The whole is in report.md.\n"


def append_step_summary(text: str, environment: Mapping[str, str]) -> bool:
    """Append Markdown to the step's summary; return False if there is none."""
    name = environment.get(VARIABLE)
    if not name:
        return False
    path = Path(name)
    there = path.stat().st_size if path.exists() else 0
    room = MOST_BYTES - there - len(CUT)
    content = text.encode()
    if len(content) > room:
        content = content[: max(room, 0)].rpartition(b"\n")[0] + CUT.encode()
    with path.open("ab") as file:
        file.write(content)
    return True
