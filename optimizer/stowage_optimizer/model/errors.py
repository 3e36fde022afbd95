"""What may be wrong with a request before anything is solved."""

from collections.abc import Sequence
from dataclasses import dataclass

from stowage_optimizer.errors import INVALID_INPUT, OptimizerError

SHOWN_ISSUES = 50
"""Issues spelled out in one message; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with the input.

    Parameters
    ----------
    where
        Path of the field, as in ``nodes[3].allocatable.cpu_milli``.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class InvalidInputError(OptimizerError):
    """The snapshot or the options break the contract; carries every issue."""

    exit_code = INVALID_INPUT

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(issues)
        lines = [str(issue) for issue in self.issues[:SHOWN_ISSUES]]
        if len(self.issues) > SHOWN_ISSUES:
            lines.append(f"... and {len(self.issues) - SHOWN_ISSUES} more")
        count = len(self.issues)
        noun = "issue" if count == 1 else "issues"
        super().__init__(f"{count} {noun} in the input\n  " + "\n  ".join(lines))
