"""What can be wrong with a comparison's folder, every cause with its way out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class BundleMissingError(StowageError):
    """There is no comparison where one was looked for."""

    exit_code = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds no comparison (no compare.json); `stowage compare` makes "
            "one, below results/compare unless given otherwise"
        )


class BundleExistsError(StowageError):
    """Another comparison is there already."""

    exit_code = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds a comparison already; resume it, or name another folder"
        )


class BundleBrokenError(StowageError):
    """Files of a comparison cannot be read; all of them are named at once."""

    exit_code = 2

    def __init__(self, folder: Path, issues: Sequence[str]) -> None:
        listed = "\n".join(f"  {issue}" for issue in issues)
        super().__init__(
            f"{folder} cannot be read:\n{listed}\n"
            "put the files back as they were written; the comparison can be resumed "
            "after a broken record has been deleted"
        )


class BundleEmptyError(StowageError):
    """There is nothing to report yet."""

    exit_code = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} holds no finished run yet; resume the comparison")
