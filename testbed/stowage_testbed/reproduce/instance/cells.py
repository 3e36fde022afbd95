"""Choosing cells of a grid by their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.errors import NoSuchCellError


def choose_cells(patterns: Sequence[str], grid: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return the cells of a grid whose names match, all without a pattern.

    Raises
    ------
    NoSuchCellError
        A pattern matches none.
    """
    known = {cell.name: cell for cell in grid}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise NoSuchCellError(pattern, next(iter(known)))
    wanted = patterns or ("*",)
    return tuple(
        cell
        for name, cell in known.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    )
