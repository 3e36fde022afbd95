"""What can go wrong with a fault itself, one class a cause."""

from __future__ import annotations

from collections.abc import Collection

from stowage_testbed.errors import StowageError


class WayUnknownError(StowageError):
    """A fault is asked for in a way that it does not have."""

    exit_code = 2

    def __init__(self, fault: str, way: str, known: Collection[str]) -> None:
        ways = ", ".join(sorted(known)) or "none: leave `with` out"
        super().__init__(f"fault {fault!r} has no way {way!r}; there are: {ways}")


class NotAFaultError(StowageError):
    """A scenario in which nothing goes wrong was to be tried."""

    exit_code = 2

    def __init__(self, scenario: str) -> None:
        super().__init__(
            f"scenario {scenario} has no `fault`; run it with `stowage run`"
        )


class ProcessMissingError(StowageError):
    """A process that a fault is about does not run."""

    def __init__(self, container: str) -> None:
        super().__init__(
            f"the release's container {container!r} has no process to do this to; "
            "see its log, and whether the release is ready"
        )


class NothingToHitError(StowageError):
    """The plan that lives has nothing of the kind that a fault is about."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the plan has no {what}; choose another moment or workload")
