"""What the API server may answer to a run."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class ApiRefusedError(StowageError):
    """The API server refused a change that a run must make."""

    def __init__(self, what: str, status: int, body: str) -> None:
        self.status = status
        super().__init__(
            f"the API server refused to {what} with {status}: {body.strip()[:400]}"
        )


class ApiUnreachableError(StowageError):
    """The API server gave no answer."""

    def __init__(self, what: str, cause: str) -> None:
        super().__init__(
            f"no answer from the API server when asked to {what} ({cause}); "
            "the cluster has stopped: see `stowage list` and its logs"
        )
