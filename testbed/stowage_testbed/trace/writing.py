"""Writing a trace, so that little is lost if the writer is killed."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Self

import msgspec

from stowage_testbed.trace.format import Header, Line, check_is_trace

MS = 3
"""Digits behind the point of a time."""


class TraceWriter:
    """Writes a trace, compressed if its name ends in ``.gz``, whole at the end of its context, or raises."""

    def __init__(self, path: Path, header: Header) -> None:
        check_is_trace(path.name)
        self._encoder = msgspec.json.Encoder()
        self._raw = path.open("wb")
        packed = path.suffix == ".gz"
        # Neither the time nor the name, so that equal traces are equal files.
        self._file = gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0) if packed else self._raw
        self._latest = 0.0
        self._put(header)

    def write(self, line: Line) -> None:
        """Write one line; times are in milliseconds, and none goes back."""
        self._latest = max(self._latest, round(line.t, MS))
        if line.t != self._latest:
            line = msgspec.structs.replace(line, t=self._latest)
        self._put(line)

    def flush(self) -> None:
        """Have all that was written lie in the file, readable."""
        self._file.flush()
        self._raw.flush()

    def close(self) -> None:
        """End the file."""
        self._file.close()
        self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, line: Header | Line) -> None:
        self._file.write(self._encoder.encode(line) + b"\n")
