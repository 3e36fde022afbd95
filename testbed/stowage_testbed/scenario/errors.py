"""What can be wrong with scenario files, every cause with its place and its way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.errors import StowageError


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


class ScenarioUnreadableError(StowageError):
    """A scenario file or folder is not there, or cannot be read."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(
            f"cannot read {path}: {cause}; name a scenario file, a folder of them, "
            "or a scenario as `stowage scenario list` prints it"
        )


class ScenarioUnknownError(StowageError):
    """No scenario has the name that was asked for."""

    def __init__(self, asked: str, close: Sequence[str]) -> None:
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        super().__init__(
            f"no scenario is called {asked!r}; {hint}`stowage scenario list` prints "
            "those of the folder, with --shipped those that come with Stowage"
        )


class ScenarioNameError(StowageError):
    """A scenario cannot have a name."""

    exit_code = 2

    def __init__(self, name: str) -> None:
        super().__init__(
            f"a scenario cannot be called {name!r}; write a topic and a behaviour, as "
            "in web/scale-up"
        )


class ScenarioThereError(StowageError):
    """A file that was to be written is there already."""

    exit_code = 2

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"there is already a file {path}; choose another name, or remove it"
        )
