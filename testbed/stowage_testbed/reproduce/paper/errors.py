"""What can go wrong with the paper's evaluation, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class LiveRunError(StowageError):
    """The real cluster failed amid the sample."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the runs on the real cluster ended early: {why}; what was run is kept, "
            "and the same command continues with the rest"
        )
