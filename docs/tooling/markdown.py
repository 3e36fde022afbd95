"""Markdown as the generated pages need it: tables, and text that is safe in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_TAG = re.compile(r"<(?=[A-Za-z/!])")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; nothing if there are no rows."""
    body = [f"| {' | '.join(cell(text) for text in row)} |" for row in rows]
    if not body:
        return ""
    head = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    return "\n".join([*head, *body]) + "\n"


def cell(text: str) -> str:
    """Return text on one line, in which nothing ends the cell or begins a tag."""
    line = " ".join(text.split())
    return plain(line).replace("|", "\\|")


def plain(text: str) -> str:
    """Return text in which ``<name>`` is shown and not taken for a tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _TAG.sub("&lt;", part) for part in parts)


def code(value: object) -> str:
    """Return a value as code; nothing for an empty text."""
    text = str(value)
    return f"`{text}`" if text else ""


def page(title: str, note: str, *parts: str) -> str:
    """Return a page with a note on where it comes from."""
    return "\n".join([f"# {title}\n", f"{note}\n", *(part for part in parts if part)])
