"""Integers in labels, as Go reads them."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})", re.ASCII)


def parse_integer(text: str) -> int | None:
    """Return the number that ``text`` writes out, None if it writes none of 64 bits.

    Python's own `int` would take ``1_0`` and other scripts' digits too, and raises an
    error of its own from 4,300 digits on.
    """
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if -(2**63) <= number < 2**63 else None
