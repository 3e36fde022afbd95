"""What can go wrong while a project is begun, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class FilesInTheWayError(StowageError):
    """Files that were to be written are there already; nothing was written."""

    exit_code = 2

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = tuple(files)
        listed = "\n".join(f"  {file}" for file in files)
        super().__init__(
            f"these files are in the way, and nothing was written:\n{listed}\n"
            "move them, name another folder, or overwrite them with --force"
        )


class FolderUnwritableError(StowageError):
    """A file cannot be written."""

    exit_code = 2

    def __init__(self, file: Path, cause: str) -> None:
        super().__init__(
            f"cannot write {file}: {cause}; name a folder that can be written to"
        )
