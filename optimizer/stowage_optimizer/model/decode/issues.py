"""Collecting issues while decoding."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from stowage_optimizer.model.errors import InvalidInputError, Issue

E = TypeVar("E", bound=StrEnum)

SHOWN = 3
"""Issues of one object that its refusal names."""

LONGEST = 200
"""Characters of each; a value may be as long as an object."""


class Issues:
    """The issues found so far.

    Those that break the contract spoil the whole input. Those of one class, node,
    budget or reservation are set aside: that one is left alone, and all others are
    planned.
    """

    def __init__(self) -> None:
        self._found: list[Issue] = []
        self._aside: list[Issue] = []

    @property
    def aside(self) -> tuple[Issue, ...]:
        """The issues that spoil only what they are found in."""
        return tuple(self._aside)

    def set_aside(self, one: Issues) -> str:
        """Set the issues of ``one`` aside, and return them in a line; "" for none."""
        self._aside += one._found
        summary = "; ".join(str(issue)[:LONGEST] for issue in one._found[:SHOWN])
        if len(one._found) > SHOWN:
            summary += f"; and {len(one._found) - SHOWN} more"
        return summary

    def add(self, where: str, what: str) -> None:
        """Note one issue."""
        self._found.append(Issue(where, what))

    def require(self, where: str, value: str) -> str:
        """Return ``value``; empty text is an issue."""
        if not value:
            self.add(where, "is empty")
        return value

    def member(self, where: str, value: str, kind: type[E], default: E) -> E:
        """Return ``value`` as a member of ``kind``; anything else is an issue."""
        try:
            return kind(value)
        except ValueError:
            allowed = ", ".join(member.value for member in kind)
            self.add(where, f"is {value!r}, not one of {allowed}")
            return default

    def unique(self, where: str, what: str, seen: set[str], value: str) -> None:
        """Note an issue if ``value`` was seen before."""
        if value in seen:
            self.add(where, f"{what} {value!r} appears twice")
        seen.add(value)

    def known(self, where: str, what: str, known: Iterable[str] | set[str], value: str) -> None:
        """Note an issue if ``value`` is not among ``known``."""
        if value not in known:
            self.add(where, f"names the unknown {what} {value!r}")

    def raise_if_any(self) -> None:
        """Raise all issues as one error.

        Raises
        ------
        InvalidInputError
            There is at least one.
        """
        if self._found:
            raise InvalidInputError([*self._found, *self._aside])
