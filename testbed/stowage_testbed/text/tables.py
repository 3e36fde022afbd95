"""A table before it is known where it will be shown, and how it looks there: on a terminal, and as Markdown."""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

WIDEST = 60  # Characters of a cell on a terminal, beyond which it goes on in a further line

_MARKED = str.maketrans({one: f"\\{one}" for one in "\\`*_[]|#~"})

VARIABLE = "GITHUB_STEP_SUMMARY"

MOST_BYTES = 1_000_000  # GitHub takes one mebibyte a step, and drops the whole summary beyond it

CUT = "\n\nCut here: the summary of a step holds no more. The whole is in report.md.\n"


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, in which a line break is one; notes tell how to read them."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def terminal_text(tables: Iterable[Table]) -> str:
    """Return the tables as text."""
    return "\n\n".join("\n".join(_terminal_parts(table)) for table in tables)


def markdown_text(tables: Iterable[Table]) -> str:
    """Return the tables under headings of the second level."""
    return "\n\n".join("\n\n".join(_markdown_parts(table)) for table in tables) + "\n"


def plain_table(headers: Sequence[str], rows: Iterable[Sequence[object]], align: Sequence[str] | None = None) -> str:
    """Return a table without rules."""
    return tabulate(rows, headers, tablefmt="plain", disable_numparse=True, colalign=align)


def plain(text: str) -> str:
    """Return the text without what would steer a terminal; names come from anywhere."""
    return "".join(one if one == "\n" or unicodedata.category(one) not in {"Cc", "Cf"} else "?" for one in text)


def escaped(text: str) -> str:
    """Return the text so that Markdown shows it as it is, in one line."""
    marked = html.escape(plain(text), quote=False).translate(_MARKED)
    return marked.replace("\n", "<br>")


def append_step_summary(text: str, environment: Mapping[str, str]) -> bool:
    """Append Markdown to the summary of a CI step; return False if there is none."""
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


def _terminal_parts(table: Table) -> Iterator[str]:
    yield plain(table.title)
    if table.rows:
        rows = [[plain(cell) for cell in row] for row in table.rows]
        headers = [plain(header) for header in table.headers]
        yield tabulate(rows, headers, tablefmt="simple", disable_numparse=True, maxcolwidths=WIDEST)
    yield from map(plain, table.notes)


def _markdown_parts(table: Table) -> Iterator[str]:
    yield f"## {escaped(table.title)}"
    if table.rows:
        lines = [[escaped(cell) for cell in row] for row in (table.headers, *table.rows)]
        lines.insert(1, ["---"] * len(table.headers))
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    for note in table.notes:
        yield f"<sub>{escaped(note)}</sub>"


LINES, COLUMNS = 40, 100  # What fits into a window, and into an issue


def fitted(text: str) -> str:
    """Return paragraphs with an empty line between any two, each line cut to the screen."""
    spaced = re.sub(r"\n{2,}", "\n\n", text.strip("\n"))
    return "\n".join(cut(line, COLUMNS) for line in spaced.split("\n"))


def first_of(texts: Sequence[str], most: int) -> str:
    """Return the first texts, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f", and {more:,} more" if more > 0 else "")


def cut(text: str, width: int) -> str:
    """Return the text in one line of a width, without its middle if it is longer."""
    line = plain(text).replace("\n", " ")
    if len(line) <= width:
        return line
    begin = (width - 3) // 2
    return f"{line[:begin]}...{line[len(line) - (width - 3 - begin) :]}"


def count(number: int, what: str) -> str:
    """Return a number of things in words: ``1 node``, ``2,000 nodes``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
