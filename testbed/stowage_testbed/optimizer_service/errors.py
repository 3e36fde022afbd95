"""What can go wrong in a benchmark, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class ServiceNotReadyError(StowageError):
    """The service under test did not get ready."""

    def __init__(self, state: str, said: str) -> None:
        super().__init__(
            f"the optimiser's service did not get ready: {state}; its log ends with:\n"
            f"{said}\nstart `stowage-optimizer serve` by hand to see why"
        )


class CallFailedError(StowageError):
    """The service refused a call or left it without an answer."""

    def __init__(self, case: str, arm: str, why: str) -> None:
        super().__init__(
            f"no answer for {case} by {arm}: {why}; what was measured until now is "
            "kept, and running again goes on from there"
        )


class NoAnswerError(StowageError):
    """The service gave no last answer."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the optimiser gave no answer: {why}")
