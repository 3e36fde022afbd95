"""How much work fits into a stretch of time, by the clock or by counted steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from stowage_optimizer.model.options import Clock

COUNTED_RATE = 100_000.0
"""Steps that count as one second where work is counted; a third of what a busy core
does, so that the wall-clock kill stays far off."""

FIRST_RATE = 100_000.0
"""Steps a second until the first are measured; too few are made good for at once."""

FEWEST = 64
"""Steps of the shortest slice."""


@dataclass(slots=True)
class WorkClock:
    """Time as one thread of work sees it.

    Parameters
    ----------
    clock
        The real time.
    counted
        Time passes only by work done: the same work, the same answer.
    """

    clock: Clock
    counted: bool
    _rate: float = FIRST_RATE
    _worked_s: float = field(default=0.0)

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        return self._worked_s if self.counted else self.clock()

    def steps(self, seconds: float) -> int:
        """Return how many steps are worth ``seconds``."""
        rate = COUNTED_RATE if self.counted else self._rate
        return max(FEWEST, int(seconds * rate))

    def done(self, steps: int, began: float) -> None:
        """Note that ``steps`` were made since ``began``."""
        if self.counted:
            self._worked_s += steps / COUNTED_RATE
            return
        seconds = self.clock() - began
        if seconds > 0:
            # Slices grow at most fourfold, even with a coarse clock.
            self._rate = min(0.5 * self._rate + 0.5 * steps / seconds, 4 * self._rate)

    def spend_steps(self, steps: int) -> None:
        """Note ``steps`` made, which do not measure how fast others are."""
        self.spend(steps / COUNTED_RATE)

    def spend(self, seconds: float) -> None:
        """Note work that counts itself in seconds."""
        if self.counted:
            self._worked_s += seconds
