"""Text files as editors write them."""

from __future__ import annotations

import codecs
from pathlib import Path

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark, or in UTF-16.

    Raises
    ------
    OSError
        It cannot be read.
    UnicodeDecodeError
        It is in neither.
    """
    content = path.read_bytes()
    return content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig")
