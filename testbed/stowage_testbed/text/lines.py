"""Lines of an answer that fits on one screen."""

import re
from collections.abc import Iterable, Sequence

from stowage_testbed.text.tables import plain, plain_table

LINES, COLUMNS = 40, 100
"""What fits into a window, and into an issue."""


def fitted(text: str) -> str:
    """Return paragraphs with an empty line between any two, each line cut to the screen."""
    spaced = re.sub(r"\n{2,}", "\n\n", text.strip("\n"))
    return "\n".join(cut(line, COLUMNS) for line in spaced.split("\n"))


def columns(headers: Sequence[str], rows: Iterable[Sequence[str]], align: Sequence[str]) -> list[str]:
    """Return the lines of a table without rules."""
    return plain_table(headers, rows, align).split("\n")


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
