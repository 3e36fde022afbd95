"""Conditions on the state, and the error of waiting for one in vain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.state import State


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Whether a condition holds; if not, the state in words, for the time-out.

    Attributes
    ----------
    holds
        The condition is met.
    state
        What was seen, in words.
    error
        The condition can never be met any more: stop waiting and say this.
    """

    holds: bool
    state: str
    error: str = ""


Condition = Callable[[State], ConditionResult]


class UnreachableStateError(StowageError):
    """A state that was waited for can no longer come."""

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"waiting for {what} is in vain: {cause}")
