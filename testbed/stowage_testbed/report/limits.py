"""How much of a large run stands on a page; all of it is in the run's document.

One wrong scheduler breaks a rule for each of 50,000 pods. Nobody reads so many lines,
and browsers, terminals and CI's readers of JUnit files give up on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stowage_testbed.text.tables import Table

MOST_LINES = 200
MOST_CHARACTERS = 2000
WHERE = "all are in run.json"


def shorten(text: str) -> str:
    """Return a text, or its beginning and how long it is."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text):,} characters; {WHERE})"


def count_left_out(count: int) -> str:
    """Return what is to be said of so many lines; empty if all are shown."""
    more = count - MOST_LINES
    return f"and {more:,} more; {WHERE}" if more > 0 else ""


def take_first_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and how many there are beside them."""
    note = count_left_out(len(lines))
    shown = [shorten(line) for line in lines[:MOST_LINES]]
    return [*shown, note] if note else shown


def limit(table: Table) -> Table:
    """Return a table of its first rows, which says how many there are beside them."""
    rows = tuple(tuple(shorten(cell) for cell in row) for row in table.rows[:MOST_LINES])
    note = count_left_out(len(table.rows))
    return replace(table, rows=rows, notes=(*table.notes, *([note] if note else ())))
