"""What can go wrong while results are written, one class a cause."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError


class ResultsFolderError(StowageError):
    """Results cannot be written where they should be."""

    exit_code = 2

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(f"cannot write results to {path}: {cause}; name another place")
