"""What can go wrong with the evaluation of Boreas, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence

from stowage_testbed.errors import StowageError


class NoSuchNameError(StowageError):
    """An option names something that there is not."""

    exit_code = 2

    def __init__(self, option: str, name: str, known: Sequence[str]) -> None:
        super().__init__(f"{option} {name!r}: must be of {', '.join(known)}")
