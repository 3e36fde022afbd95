"""What may be wrong with a request before anything is solved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stowage_optimizer.errors import INVALID_INPUT, OptimizerError

SHOWN_ISSUES = 50
"""Issues spelled out in one message; the rest are counted."""

SHOWN = 3
"""Issues of one object that its refusal names."""

LONGEST = 200
"""Characters of each; a value may be as long as an object."""

Faults = Iterable[tuple[str, str]]
"""Paths from an object on, as in ``.taints[0].key``, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with the input.

    Parameters
    ----------
    where
        Path of the field, as in ``nodes[3].allocatable.cpu_milli``.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class InvalidInputError(OptimizerError):
    """The snapshot or the options break the contract; carries every issue."""

    exit_code = INVALID_INPUT

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues)
        lines = [str(issue) for issue in self.issues[:SHOWN_ISSUES]]
        if len(self.issues) > SHOWN_ISSUES:
            lines.append(f"... and {len(self.issues) - SHOWN_ISSUES} more")
        count = len(self.issues)
        noun = "issue" if count == 1 else "issues"
        super().__init__(f"{count} {noun} in the input\n  " + "\n  ".join(lines))


class Issues:
    """The issues found so far.

    Those that break the contract spoil the whole input. Those of one class, node,
    budget or reservation are isolated: that one is left alone, and all others are
    planned.
    """

    def __init__(self) -> None:
        self._found: list[Issue] = []
        self._isolated: list[Issue] = []

    @property
    def isolated(self) -> tuple[Issue, ...]:
        """The issues that spoil only what they are found in."""
        return tuple(self._isolated)

    def isolate(self, where: str, faults: Faults) -> str:
        """Note the faults of one object as isolated, and return them in a line."""
        found = [Issue(f"{where}{path}", what) for path, what in faults]
        self._isolated += found
        summary = "; ".join(str(issue)[:LONGEST] for issue in found[:SHOWN])
        if len(found) > SHOWN:
            summary += f"; and {len(found) - SHOWN} more"
        return summary

    def add(self, where: str, what: str) -> None:
        """Note one issue."""
        self._found.append(Issue(where, what))

    def require(self, where: str, value: str) -> None:
        """Note an issue if ``value`` is empty."""
        if not value:
            self.add(where, "is empty")

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
            raise InvalidInputError([*self._found, *self._isolated])
