"""Watchers of the progress of an installation."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Follows one tool: steps are compiled packages, or KiB of a download."""

    def total(self, steps: int) -> None:
        """Take note of how many steps there are."""
        ...

    def advance(self, steps: int, note: str) -> None:
        """Take note of steps that are done."""
        ...

    def note(self, text: str) -> None:
        """Take note of what goes on between two steps."""
        ...
