"""What is asked of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from stowage_testbed.errors import InputError
from stowage_testbed.instances.cell import Cell


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
    return tuple(
        cell
        for name, cell in known.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted)
    )
