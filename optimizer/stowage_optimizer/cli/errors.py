"""What may be wrong with the files and sockets that a command is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_optimizer.errors import OptimizerError


class FileUnreadableError(OptimizerError):
    """The file cannot be read."""

    exit_code = 2

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: cannot be read: {why}; check the path")


class FileUnwritableError(OptimizerError):
    """The file cannot be written."""

    exit_code = 2

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path}: cannot be written: {why}; check the folder and its permissions"
        )


class InvalidJsonError(OptimizerError):
    """The file is not JSON."""

    exit_code = 2

    def __init__(self, path: Path, line: int, column: int, why: str) -> None:
        super().__init__(f"{path}:{line}:{column}: not JSON: {why}; correct it there")


class InvalidFieldError(OptimizerError):
    """The file is JSON, but not of the contract."""

    exit_code = 2

    def __init__(self, path: Path, message: str, why: str) -> None:
        super().__init__(
            f"{path}: no {message} of the contract: {why}; "
            "see optimizer/stowage_optimizer/contract/optimizer.proto for the fields"
        )


class InvalidSnapshotError(OptimizerError):
    """The file is a snapshot, but breaks the contract's rules."""

    exit_code = 2

    def __init__(self, path: Path, issues: str) -> None:
        super().__init__(f"{path}: {issues}")


class SolveFailedError(OptimizerError):
    """The solve ended with an error."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: the solve failed: {why}")


class PlanRefusedError(OptimizerError):
    """The plan breaks rules."""

    exit_code = 3

    def __init__(self, path: Path, violations: Sequence[object]) -> None:
        listed = "\n  ".join(str(violation) for violation in violations)
        count = len(violations)
        noun = "rule" if count == 1 else "rules"
        super().__init__(f"{path}: breaks {count} {noun}:\n  {listed}")
