"""Where the time goes: named steps and their seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.base.clock import Clock, SystemClock


class Stopwatch:
    """Times steps that follow one another; a step that fails is timed too.

    Parameters
    ----------
    clock
        Source of time; the machine's own unless a test brings one.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.durations_s: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what is done inside; time under a name used before is added."""
        start = self._clock.now()
        try:
            yield
        finally:
            spent = self._clock.now() - start
            self.durations_s[name] = self.durations_s.get(name, 0.0) + spent
