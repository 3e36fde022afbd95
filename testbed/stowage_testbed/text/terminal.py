"""Tables on a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from tabulate import tabulate

from stowage_testbed.text.table import Table

WIDEST = 60
"""Characters of a cell, beyond which it goes on in a further line."""


def terminal_text(tables: Iterable[Table]) -> str:
    """Return the tables as text."""
    return "\n\n".join(_text(table) for table in tables)


def _text(table: Table) -> str:
    parts = [plain(table.title)]
    if table.rows:
        parts.append(
            tabulate(
                [[plain(cell) for cell in row] for row in table.rows],
                headers=[plain(header) for header in table.headers],
                tablefmt="simple",
                disable_numparse=True,
                maxcolwidths=WIDEST,
            )
        )
    parts += [plain(note) for note in table.notes]
    return "\n".join(parts)


def plain(text: str) -> str:
    """Return the text without what would steer a terminal; names come from anywhere."""
    return "".join(one if one == "\n" or unicodedata.category(one) not in {"Cc", "Cf"} else "?" for one in text)
