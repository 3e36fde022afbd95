"""The issues of scenario files, each with its place and its way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.errors import StowageError


@dataclass(frozen=True, slots=True, order=True)
class Issue:
    """One issue of a scenario file; lines and columns count from 1."""

    path: Path
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class ScenarioIssuesError(StowageError):
    """Scenario files have issues; all of them are named."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(sorted(set(issues)))
        count = len(self.issues)
        noun = "issue" if count == 1 else "issues"
        lines = "\n".join(f"  {issue}" for issue in self.issues)
        super().__init__(f"{count} {noun} in the scenario files:\n{lines}")
