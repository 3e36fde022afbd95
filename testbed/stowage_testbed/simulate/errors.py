"""What can go wrong in a simulation, one class a cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class ProfileMissingError(StowageError):
    """There is no scheduler profile of that name."""

    def __init__(self, name: str, folder: Path, known: Sequence[str]) -> None:
        super().__init__(
            f"no scheduler profile {name!r} in {folder}; "
            f"there are: {', '.join(known) or 'none'}"
        )


class InstanceRefusedError(StowageError):
    """The scheduler cannot work on the instance; the reason names every issue."""

    def __init__(self, instance_id: str, reason: str) -> None:
        self.instance_id = instance_id
        self.reason = reason
        super().__init__(
            f"instance {instance_id!r} has no placements: {reason}; "
            "repair what the reason names and run it again"
        )


class QuestionRefusedError(StowageError):
    """The scheduler cannot verify; the reason names every issue."""

    def __init__(self, instance_id: str, reason: str) -> None:
        self.instance_id = instance_id
        self.reason = reason
        super().__init__(
            f"the question about instance {instance_id!r} has no answer: {reason}; "
            "repair what the reason names and ask again"
        )


class SimulatorEndedError(StowageError):
    """The process ended before it answered."""

    def __init__(self, exit_code: int, config: Path, message: str) -> None:
        self.process_exit_code = exit_code
        super().__init__(
            f"stowage-simulate --config {config} ended with exit code {exit_code}: "
            f"{message or 'it wrote no message; was it killed?'}"
        )


class SimulatorTimeoutError(StowageError):
    """An instance took longer than it was given; the process was stopped."""

    def __init__(self, instance_id: str, timeout_s: float) -> None:
        super().__init__(
            f"instance {instance_id!r} was not answered within {timeout_s:g} s; "
            "give the simulator a longer timeout_s or make the instance smaller"
        )
