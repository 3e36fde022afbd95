"""What can go wrong with instances and solves, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class NoSuchCellError(StowageError):
    """No cell of the grid has such a name."""

    exit_code = 2

    def __init__(self, pattern: str, example: str) -> None:
        super().__init__(
            f"--cells {pattern!r}: no cell of the grid is called so; they are "
            f"called as in {example} (nodes, pods per node, priorities, usage in "
            "percent), and n4-* means all with four nodes"
        )


class StepsCutShortError(StowageError):
    """A solve that counts its work was ended by the clock, so that it is no result."""

    def __init__(self, task: str, limit_s: float) -> None:
        super().__init__(
            f"{task}: the machine was too busy for its steps within {limit_s:g} s; "
            "raise --limits, or use fewer --workers"
        )
