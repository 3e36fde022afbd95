"""What keeps a call from being taken, or a child from getting ready."""

from stowage_optimizer.errors import OptimizerError


class WorkerStartError(OptimizerError):
    """The child process did not get ready."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the solver's child process did not get ready: {why}; see the log above, and check --memory-limit-bytes"
        )


class CallRefusedError(OptimizerError):
    """The call is not taken; ``status`` is gRPC's name of the reason."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
