"""What can go wrong with baselines, every cause with its way out."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError


class BaselineBrokenError(StowageError):
    """A file is no baseline."""

    exit_code = 2

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is no baseline: {why}; make one with "
            "`stowage baseline save BUNDLE FILE`"
        )


class BaselineMismatchError(StowageError):
    """A baseline and a comparison are not about the same."""

    exit_code = 2

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} cannot be held against this comparison: {what}; save a new "
            "baseline from a comparison of this scenario"
        )
