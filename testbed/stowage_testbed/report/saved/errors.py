"""What can be wrong with a saved run, one class a cause."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError


class RunMissingError(StowageError):
    """There is no run where one was looked for."""

    exit_code = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds neither a run (run.json) nor a comparison (compare.json); "
            "name the folder that `stowage run` or `stowage compare` printed at its end"
        )


class RunBrokenError(StowageError):
    """A run's document cannot be read."""

    exit_code = 2

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"{path} cannot be read: {cause}; put it back as it was written, or run "
            "the scenarios again with this version"
        )


class RunOptionError(StowageError):
    """A comparison has more to show than a run."""

    exit_code = 2

    def __init__(self, option: str, folder: Path) -> None:
        super().__init__(
            f"{option} is for comparisons, and {folder} holds a run: leave it out"
        )
