"""What can go wrong while verdicts are compared, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class NoAnswerError(StowageError):
    """The optimiser has no plan for a cluster that the scheduler can describe."""

    def __init__(self, snapshot_id: str, strategy: str, message: str) -> None:
        super().__init__(
            f"strategy {strategy} has no answer to snapshot {snapshot_id}: {message}; "
            "the scheduler's snapshots must be solvable: one of the two is wrong"
        )
