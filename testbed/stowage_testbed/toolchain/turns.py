"""Tools side by side, yet each in its turn where two would be in each other's way."""

from __future__ import annotations

import threading
from collections.abc import Sequence


class TurnsEndedError(Exception):
    """Another tool has failed, so that there are no more turns."""


class Turns:
    """Lets tools through in the order that they were named in, so many at once."""

    def __init__(self, names: Sequence[str], at_once: int = 1) -> None:
        self._waiting = list(names)
        self._at_once = at_once
        self._changed = threading.Condition()
        self._ended = False

    def add(self, name: str) -> None:
        """Let one more through, after all others."""
        with self._changed:
            self._waiting.append(name)
            self._changed.notify_all()

    def wait(self, name: str) -> None:
        """Return when it is a tool's turn, which lasts until it is `done`.

        Raises
        ------
        TurnsEndedError
            There is no turn any more.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ended or name in self._waiting[: self._at_once])
            if self._ended:
                raise TurnsEndedError

    def done(self, name: str) -> None:
        """Let the next one through, unless this tool has done so before."""
        with self._changed:
            if name in self._waiting:
                self._waiting.remove(name)
                self._changed.notify_all()

    def end(self) -> None:
        """Let none through any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
