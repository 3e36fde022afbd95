"""What can go wrong in a step, one class a cause."""

from __future__ import annotations

from stowage_testbed.errors import StowageError


class ArrivalsLateError(StowageError):
    """Pods could not be created as fast as they were to come."""

    def __init__(self, pod: str, late_s: float, allowed_s: float) -> None:
        super().__init__(
            f"pod {pod} was {late_s:.1f} s late, {allowed_s:g} s are allowed: the API "
            "server does not keep up; lower the rate or the speed, or raise the "
            "deadline of the step under `timeouts`"
        )


class TooFewToEvictError(StowageError):
    """A workload has fewer running pods than shall be evicted."""

    def __init__(self, workload: str, wanted: int, have: int) -> None:
        super().__init__(
            f"{wanted} pods of {workload} were to be evicted, {have} have a node; wait "
            "until they are bound, or evict fewer"
        )


class NotThereError(StowageError):
    """An object that a step changes is not there."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            f"there is no {kind} {name}; something else than the steps has removed it"
        )
