"""What can go wrong with a comparison, every cause with its way out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError
from stowage_testbed.scenario.errors import Issue


class ArmStartError(StowageError):
    """A scheduler did not come up."""

    def __init__(self, arm: str, why: str, log: str) -> None:
        super().__init__(f"arm {arm} did not start: {why}; its log ends with:\n{log}")


class ArmEndedError(StowageError):
    """A scheduler ended in the middle of a run."""

    def __init__(self, arm: str, code: int | None, log: str) -> None:
        super().__init__(
            f"arm {arm} ended by itself with {code}; its log ends with:\n{log}"
        )


class BurstUnplacedError(StowageError):
    """A burst did not go through, so that its duration means nothing."""

    def __init__(self, namespace: str, pods: int, created: int, bound: int) -> None:
        super().__init__(
            f"of {pods} pods of {namespace} the audit log shows {created} created and "
            f"{bound} bound; see whether the scheduler serves and the nodes have room"
        )


class NoArmError(StowageError):
    """A comparison without any arm."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__(
            f"nothing to compare: name arms with --arms, as in {','.join(known[:2])}, "
            "or describe a scheduler of your own with --arm-file"
        )


class UnknownArmError(StowageError):
    """No arm has that name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"there is no arm {name!r}; the arms are {', '.join(known)}; "
            "describe a scheduler of your own with --arm-file"
        )


class ArmNameTakenError(StowageError):
    """Two arms have one name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"two arms are called {name!r}; name each once, and give an arm file's "
            "scheduler another `name`"
        )


class ArmFileUnreadableError(StowageError):
    """An arm file is not there, or cannot be read."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(f"cannot read the arm file {path}: {cause}")


class ArmFileIssuesError(StowageError):
    """An arm file has issues; all of them are named."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        self.issues = tuple(sorted(set(issues)))
        noun = "issue" if len(self.issues) == 1 else "issues"
        lines = "\n".join(f"  {issue}" for issue in self.issues)
        super().__init__(f"{len(self.issues)} {noun} in the arm file:\n{lines}")
