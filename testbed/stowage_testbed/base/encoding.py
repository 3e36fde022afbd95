"""Text as people's tools write it: UTF-8 with or without a byte order mark, or UTF-16."""

from __future__ import annotations

import codecs

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def to_utf8(content: bytes) -> bytes:
    """Return the content in UTF-8 without a byte order mark; PowerShell writes UTF-16 with one.

    Raises
    ------
    UnicodeDecodeError
        The mark announces UTF-16, and the rest is not.
    """
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            rest = content[len(mark) :]
            return rest if encoding == "utf-8" else rest.decode(encoding).encode()
    if content[:2].count(0) == 1:
        # The first character of JSON, YAML and CSV is ASCII: half of it is zero in UTF-16.
        return content.decode("utf-16-be" if content[0] == 0 else "utf-16-le").encode()
    return content
