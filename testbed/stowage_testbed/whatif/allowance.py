"""The time for a whole answer, and what each of its parts may take of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

CONTINUING_SHARE = 0.5
"""Of the time that is left, at most, for letting the scheduler place what waits."""

PLACING_SHARE, LIFTED_SHARE = 0.6, 0.3
"""Of what is left, for the plan that places pods, and then for the question whom rules
keep from a place; the rest is for emptying nodes."""

FIRST_SHARE = 0.8
"""Of a part's time, for each solve: a plan that is refused is made again."""

LEAST_SHARE, SMALL, SURE_SOLVES = 0.05, 2000, 4
"""Of the whole time, for each of so many solves of every part; but where there are more
objects than that, for the first one of the placing only: there a plan takes long to be
looked at, too."""

LEAST_S = 0.1
"""With less there is no use in asking the optimiser."""


@dataclass(slots=True)
class Allowance:
    """The seconds for everything about so many objects, from when it is made."""

    limit_s: float
    objects: int = 0
    clock: Callable[[], float] = time.monotonic
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = self.clock() + self.limit_s

    def left_s(self) -> float:
        """Return the seconds that are left; negative where it is over."""
        return self._ends - self.clock()

    def continuing_s(self, reading_s: float = 0.0) -> float:
        """Return how long the scheduler may place what waits, after so much reading."""
        return max(LEAST_S, CONTINUING_SHARE * (self.left_s() - reading_s))

    def part(self, share: float, reserved_s: float) -> Part:
        """Return a part of what is left, beside what later parts need.

        A plan that places pods is what the answer is about: it always gets some. On a
        busy machine the processes take seconds to start, and what takes no time to
        speak of must not fall to that: neither a plan, nor the one that is made where
        the scheduler refused the first.
        """
        small = self.objects <= SMALL
        return Part(
            self.clock,
            self.clock() + share * (self.left_s() - reserved_s),
            max(2 * LEAST_S, LEAST_SHARE * self.limit_s),
            SURE_SOLVES if small else int(share == PLACING_SHARE),
        )


@dataclass(slots=True)
class Part:
    """A part of an answer, which ends by then but for the solves that are sure."""

    clock: Callable[[], float]
    ends: float
    sure_s: float
    sure_solves: int

    def solve_s(self) -> float | None:
        """Return how long the next solve may take; ``None`` if there is no time."""
        left = self.ends - self.clock()
        if self.sure_solves:
            self.sure_solves -= 1
            return max(self.sure_s, FIRST_SHARE * left)
        return None if left < LEAST_S else max(LEAST_S, FIRST_SHARE * left)
