"""One thing that must never happen, and did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken by a pod, node, plan or budget.

    ``at`` is wall time, RFC 3339; empty for what is true of the end only.
    """

    rule: str
    subject: str
    detail: str
    at: str = ""

    def in_words(self) -> str:
        """Return the violation in one line."""
        moment = f" at {self.at}" if self.at else ""
        return f"{self.rule}: {self.subject}: {self.detail}{moment}"
