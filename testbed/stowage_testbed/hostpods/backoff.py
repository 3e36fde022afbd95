"""How long a container that ended has to wait before its next start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackoffLimits:
    """The shape of the waiting times, in seconds.

    A kubelet starts at 10 s and stops doubling at 300 s; a testbed's user waits for
    the outcome, so the defaults are shorter and the shape is the same.
    """

    initial_s: float = 1.0
    maximum_s: float = 30.0
    reset_after_s: float = 60.0


@dataclass(slots=True)
class Backoff:
    """Doubles from one failure to the next, and forgets after a long good run."""

    limits: BackoffLimits
    _next_s: float = 0.0

    def after_run(self, ran_s: float) -> float:
        """Return the seconds to wait before the next start: at first none.

        The run that just ended took ``ran_s``; 0 for a failed start.
        """
        if ran_s >= self.limits.reset_after_s:
            self._next_s = 0.0
        delay_s = self._next_s
        doubled_s = delay_s * 2 if delay_s else self.limits.initial_s
        self._next_s = min(doubled_s, self.limits.maximum_s)
        return delay_s
