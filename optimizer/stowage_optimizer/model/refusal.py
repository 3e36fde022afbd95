"""A refusal: something the strategy left alone, and why. A value, not an error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was left alone.

    Parameters
    ----------
    subject
        As in ``class web-6d4c`` or ``pod default/web-1``.
    reason
        One word of a small fixed set, as in ``host-ports``.
    detail
        The reason in a sentence.
    """

    subject: str
    reason: str
    detail: str
