"""One thing that must never happen, and did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken.

    Attributes
    ----------
    rule
        The rule's name.
    subject
        The pod, node, plan or budget.
    detail
        What happened.
    at
        Wall time, RFC 3339; empty for what is true of the end only.
    """

    rule: str
    subject: str
    detail: str
    at: str = ""

    def in_words(self) -> str:
        """Return the violation in one line."""
        moment = f" at {self.at}" if self.at else ""
        return f"{self.rule}: {self.subject}: {self.detail}{moment}"
