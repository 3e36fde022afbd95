"""How many answers in a row it takes to believe them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Thresholds:
    """Counts equal answers in a row and gives a verdict when there are enough."""

    success: int
    failure: int
    _last: bool | None = None
    _in_a_row: int = 0

    def record(self, *, ok: bool) -> bool | None:
        """Take one answer; return the verdict, or ``None`` while it is open."""
        self._in_a_row = self._in_a_row + 1 if ok == self._last else 1
        self._last = ok
        needed = self.success if ok else self.failure
        return ok if self._in_a_row >= needed else None
