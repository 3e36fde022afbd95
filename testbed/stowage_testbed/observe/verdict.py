"""The answer of a condition on the state: does it hold, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
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
