"""What can go wrong while watching, one class a cause."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError


class WatchFailedError(StowageError):
    """A watch ended for a reason that a new list cannot fix."""

    def __init__(self, kind: str, cause: str) -> None:
        self.kind = kind
        super().__init__(
            f"the watch of {kind} broke off: {cause}; "
            "see whether the cluster's API server still runs"
        )


class ListFailedError(StowageError):
    """The API server refused a list that a watch must start with."""

    def __init__(self, kind: str, status: int, body: str) -> None:
        self.kind = kind
        self.status = status
        super().__init__(f"listing {kind} was answered with {status}: {body[:300]}")


class NotSettledError(StowageError):
    """A state that was waited for did not come before the deadline."""

    def __init__(self, what: str, timeout_s: float, last_state: str) -> None:
        self.what = what
        self.timeout_s = timeout_s
        self.last_state = last_state
        super().__init__(
            f"waited {timeout_s:g} s for {what}; the last state seen was: {last_state}"
        )


class UnreachableStateError(StowageError):
    """A state that was waited for can no longer come."""

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"waiting for {what} is in vain: {cause}")


class AuditLogMissingError(StowageError):
    """A cluster has no audit log where its work directory should hold one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"there is no audit log at {path}; bring the cluster up with `stowage up`, "
            "which switches auditing on"
        )
