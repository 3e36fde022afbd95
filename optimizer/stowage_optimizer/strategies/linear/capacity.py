"""The room of each node as rows: equations (1) and (2) of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stowage_optimizer.strategies.linear.program import LinearProgram


@dataclass(frozen=True, slots=True)
class Presence:
    """Pods of one demand that may be on a node, counted by one variable.

    ``stays`` means that they run there now.
    """

    variable: int
    demand: tuple[int, ...]
    stays: bool


def add_capacity(
    program: LinearProgram, room: Sequence[int], present: Sequence[Presence]
) -> None:
    """Add the rows of one node.

    Parameters
    ----------
    program
        Gets the rows.
    room
        Room of the node by dimension.
    present
        All pods that may be there.
    """
    for dimension, limit in enumerate(room):
        asking = [one for one in present if one.demand[dimension]]
        load = [(one.variable, one.demand[dimension]) for one in asking]
        if _most(program, asking, dimension) <= limit:
            continue
        at_home = _most(program, [one for one in asking if one.stays], dimension)
        if at_home <= limit:
            program.at_most(load, limit)
            continue
        # Overcommitted already: its pods may stay, but none that asks for this
        # dimension may come until everything fits.
        open_ = program.variable()
        program.at_most([*load, (open_, at_home - limit)], at_home)
        for one in asking:
            if not one.stays:
                program.at_most(
                    [(one.variable, 1), (open_, -program.upper[one.variable])], 0
                )


def _most(program: LinearProgram, members: Sequence[Presence], dimension: int) -> int:
    return sum(one.demand[dimension] * program.upper[one.variable] for one in members)
