"""A violation: one thing that a plan must not do, found in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    Parameters
    ----------
    rule
        Name of the rule, as in ``capacity``.
    subject
        The pod, node or tier concerned.
    detail
        What is wrong, with the numbers.
    """

    rule: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject}: {self.detail}"
