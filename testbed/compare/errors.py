"""What can go wrong with a comparison, every cause with its way out."""

from __future__ import annotations

from testbed.errors import StowageError


class ArmStartError(StowageError):
    """A scheduler did not come up."""

    def __init__(self, arm: str, why: str, log: str) -> None:
        super().__init__(f"arm {arm} did not start: {why}; its log ends with:\n{log}")


class ArmEndedError(StowageError):
    """A scheduler ended in the middle of a run."""

    def __init__(self, arm: str, code: int | None, log: str) -> None:
        super().__init__(
            f"arm {arm} ended by itself with {code}; its log ends with:\n{log}"
        )


class BurstUnplacedError(StowageError):
    """A burst did not go through, so that its duration means nothing."""

    def __init__(self, namespace: str, pods: int, created: int, bound: int) -> None:
        super().__init__(
            f"of {pods} pods of {namespace} the audit log shows {created} created and "
            f"{bound} bound; see whether the scheduler serves and the nodes have room"
        )
