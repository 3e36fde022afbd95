"""How a call's time is split: reading, solving, and what follows the solve.

The caller's limit is the solver's: it begins when the child has read its snapshot, and
what comes before and after has bounds of its own, which grow with the request. So a
caller is answered `grace_s` after its limit at the latest, with whatever has passed the
checker by then, and knows that before it asks; see `time_limit_s` in the contract.
"""

from __future__ import annotations

READING_S, READING_S_PER_BYTE = 1.5, 0.5e-6
"""The child is killed if it has not read its request by then. Twelve times what 50,000
pods (8 MB) take a core: a machine may be busy, and terms with many selectors take three
times as long a byte."""

KILL_AFTER_S, KILL_AFTER_S_PER_BYTE = 0.05, 0.01e-6
"""After its limit the child is killed: its last plan is still written until then."""

ANSWER_AFTER_S, ANSWER_AFTER_S_PER_BYTE = 0.15, 0.14e-6
"""After that the caller is answered, also if the last plan is still being checked."""

CHECKING_S_PER_BYTE = 0.05e-6
"""What checking one plan takes, about, on a core that is shared."""


def reading_limit_s(request_bytes: int) -> float:
    """Return the seconds that a child may take to read its request."""
    return READING_S + READING_S_PER_BYTE * request_bytes


def kill_after_s(request_bytes: int) -> float:
    """Return the seconds after its time limit when a child is killed."""
    return KILL_AFTER_S + KILL_AFTER_S_PER_BYTE * request_bytes


def answer_after_s(request_bytes: int) -> float:
    """Return the seconds after the end of a solve when its caller is answered."""
    return ANSWER_AFTER_S + ANSWER_AFTER_S_PER_BYTE * request_bytes


def checking_s(request_bytes: int) -> float:
    """Return the seconds that checking one plan takes, about."""
    return CHECKING_S_PER_BYTE * request_bytes


def grace_s(request_bytes: int) -> float:
    """Return the seconds after its time limit when a call is answered at the latest."""
    return (
        reading_limit_s(request_bytes)
        + kill_after_s(request_bytes)
        + answer_after_s(request_bytes)
    )
