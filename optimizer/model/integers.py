"""Integers in labels, as Go reads them."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def parse_integer(text: str) -> int | None:
    """Return the number that ``text`` writes out, None if it writes none.

    Python's own `int` would take ``1_0`` and other scripts' digits too.
    """
    return int(text) if _INTEGER.fullmatch(text) else None
