"""Waiting: a clock, a condition, a deadline, and the last state seen when it passes."""

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from stowage_testbed.base import health
from stowage_testbed.base.errors import InputError, StowageError


class Clock(Protocol):
    """A monotonic clock in seconds, and a way to let time pass."""

    def now(self) -> float:
        """Return seconds since an arbitrary, fixed moment."""
        ...

    def pause(self, seconds: float) -> None:
        """Return after ``seconds``."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's own monotonic clock."""

    def now(self) -> float:
        """Return the machine's monotonic time in seconds."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Block the calling thread for ``seconds``, or until what it needs is not well."""
        ends_s = time.monotonic() + seconds
        while (left_s := ends_s - time.monotonic()) > 0:
            time.sleep(min(left_s, health.LOOK_EVERY_S))  # noqa: TID251 - the one place
            health.check()


T = TypeVar("T")

POLL_S = 0.05  # Pause between two looks at a condition that cannot be watched

HANG_S = 120.0
"""Deadline of what takes seconds or less: it is there for what hangs, not for what is slow. With four busy loops on two
cores a start takes three times as long as on an idle machine, with seven builds ten times."""


PATIENCE = "STOWAGE_PATIENCE"  # The variable that makes every deadline so many times as long, on a slow machine


def stretch(timeout_s: float) -> float:
    """Return a deadline as this machine is given it; an InputError if the variable is not a number of at least 1."""
    said = os.environ.get(PATIENCE) or "1"
    try:
        factor = float(said)
    except ValueError:
        factor = 0.0
    if not 1 <= factor < math.inf:
        raise InputError(f"{PATIENCE}={said}: give a number of at least 1, such as 4")
    return timeout_s * factor


class WaitTimeoutError(StowageError, Generic[T]):
    """A condition did not hold before its deadline."""

    def __init__(self, what: str, timeout_s: float, last_state: T) -> None:
        self.what = what
        self.timeout_s = timeout_s
        self.last_state = last_state
        super().__init__(f"waited {timeout_s:g} s for {what}; the last state seen was: {last_state}")


def wait_until(
    what: str,
    look: Callable[[], T],
    holds: Callable[[T], bool],
    *,
    timeout_s: float = HANG_S,
    poll_s: float = POLL_S,
    clock: Clock | None = None,
) -> T:
    """Look until ``holds`` accepts the state, and return that state; what is needed and not well ends the wait.

    ``what`` is the condition in words, as in "node n1 to be Ready". Exceptions of ``look`` are not caught: one that
    may fail says so by returning a state. The deadline, by default that of what hangs, counts from now, and `stretch`
    may put it off. Raises a WaitTimeoutError, which carries the last state.
    """
    clock = clock or SystemClock()
    timeout_s = stretch(timeout_s)
    deadline = clock.now() + timeout_s
    while True:
        health.check()
        state = look()
        if holds(state):
            return state
        if clock.now() >= deadline:
            raise WaitTimeoutError(what, timeout_s, state)
        clock.pause(poll_s)
