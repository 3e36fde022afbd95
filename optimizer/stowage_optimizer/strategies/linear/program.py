"""An integer program with linear rows, before any solver has seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Terms = Sequence[tuple[int, int]]
"""A sum: pairs of variable and coefficient."""

Values = Sequence[int]
"""One value a variable."""


@dataclass(frozen=True, slots=True)
class Row:
    """A sum and its limits, both inclusive; a lower limit of None is none."""

    terms: Terms
    lower: int | None
    upper: int


@dataclass(slots=True)
class LinearProgram:
    """Integer variables from 0 to ``upper``, and rows that they must meet."""

    upper: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def variable(self, upper: int = 1) -> int:
        """Return a new variable with values from 0 to ``upper``."""
        self.upper.append(upper)
        return len(self.upper) - 1

    def at_most(self, terms: Terms, limit: int) -> None:
        """Keep the sum of ``terms`` at ``limit`` or below."""
        self.rows.append(Row(terms, None, limit))

    def between(self, terms: Terms, lower: int, upper: int) -> None:
        """Keep the sum of ``terms`` from ``lower`` to ``upper``."""
        self.rows.append(Row(terms, lower, upper))


def total(terms: Terms, values: Values) -> int:
    """Return the sum of ``terms`` at ``values``."""
    return sum(coefficient * values[variable] for variable, coefficient in terms)
