"""What is asked of an evaluation that is a grid of cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Generic, Self, TypeVar

from stowage_testbed.base.errors import InputError
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.rows import Case

CaseT = TypeVar("CaseT", bound=Case)


@dataclass(frozen=True, slots=True)
class GridRequest(Generic[CaseT]):
    """Cells, instances a cell, strategies and limits.

    If ``deterministic``, work is counted in steps, not seconds: the same rows on any
    machine, but for times.
    """

    cells: tuple[Cell, ...]
    sample: int
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    deterministic: bool = False

    @staticmethod
    @abstractmethod
    def grid() -> Iterable[Cell]:
        """Return all cells of the paper."""

    @abstractmethod
    def cases_of(self, cell: Cell, number: int) -> Sequence[CaseT]:
        """Return the cases of the ``number``-th instance of a cell."""

    def cases(self) -> Sequence[CaseT]:
        """Return the cases: first instances of all cells before second ones."""
        return [case for number in range(self.sample) for cell in self.cells for case in self.cases_of(cell, number)]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the request that `document` returned this for."""
        given = {
            **document,
            "cells": choose_cells(document["cells"], cls.grid()),
            "strategies": tuple(document["strategies"]),
            "limits_s": tuple(document["limits_s"]),
        }
        return cls(**given)

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        return {
            "cells": [cell.name for cell in self.cells],
            "sample": self.sample,
            "strategies": list(self.strategies),
            "limits_s": list(self.limits_s),
            "deterministic": self.deterministic,
        }


def choose_cells(patterns: Sequence[str], grid: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells of a grid whose names match, all without a pattern.

    Raises
    ------
    InputError
        A pattern matches none.
    """
    known = {cell.name: cell for cell in grid}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise InputError(
                f"--cells {pattern!r}: no cell of the grid is called so; they are "
                f"called as in {next(iter(known))} (nodes, pods per node, priorities, "
                "usage in percent), and n4-* means all with four nodes"
            )
    wanted = patterns or ("*",)
    return tuple(cell for name, cell in known.items() if any(fnmatchcase(name, pattern) for pattern in wanted))
