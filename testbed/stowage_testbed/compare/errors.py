"""What somebody catches by name while schedulers are compared."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import InputError, StowageError


class ArmEndedError(StowageError):
    """A scheduler ended in the middle of a run."""

    def __init__(self, arm: str, code: int | None, log: str) -> None:
        super().__init__(
            f"arm {arm} ended by itself with {code}; its log ends with:\n{log}"
        )


class BundleMissingError(InputError):
    """There is no comparison where one was looked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} holds no comparison (no compare.json); `stowage compare` makes "
            "one, below results/compare unless given otherwise"
        )
