"""Text files as editors write them, and files that are there whole or not at all."""

import codecs
from pathlib import Path

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8 or UTF-16, or raise an OSError or UnicodeDecodeError."""
    return to_utf8(path.read_bytes()).decode()


def to_utf8(content: bytes) -> bytes:
    """Return text in UTF-8 without a byte order mark; a UnicodeDecodeError if it looks like UTF-16 and is none."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            rest = content[len(mark) :]
            return rest if encoding == "utf-8" else rest.decode(encoding).encode()
    if content[:2].count(0) == 1:
        # The first character of JSON, YAML and CSV is ASCII: half of it is zero in UTF-16.
        return content.decode("utf-16-be" if content[0] == 0 else "utf-16-le").encode()
    return content


def write_whole(path: Path, content: str | bytes) -> None:
    """Write ``content`` to ``path``, whose folder is made if it is missing; an interrupted run leaves no half file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_bytes(content.encode() if isinstance(content, str) else content)
    draft.replace(path)
