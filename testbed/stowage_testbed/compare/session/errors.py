"""Why a comparison is not begun, every cause with its way out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.errors import StowageError


class UnfairArmsError(StowageError):
    """The arms differ in more than how they place pods."""

    exit_code = 2

    def __init__(self, refusal: str) -> None:
        super().__init__(refusal)


class NothingMeasuredError(StowageError):
    """The scenario has no measured window."""

    exit_code = 2

    def __init__(self, scenario_id: str) -> None:
        super().__init__(
            f"{scenario_id} measures nothing: it needs `steps` with `measure: start` "
            "and `measure: stop`, as scenarios/burst/deployment-200.yaml has them"
        )


class OtherComparisonError(StowageError):
    """The folder holds a comparison of something else."""

    exit_code = 2

    def __init__(self, folder: Path, differs: str) -> None:
        super().__init__(
            f"{folder} holds another comparison ({differs} differ); name another "
            "folder with --results, or remove it"
        )


class SecondSchedulerError(StowageError):
    """A release runs on the cluster that is to be compared on."""

    exit_code = 2

    def __init__(self, cluster: str, release: str) -> None:
        super().__init__(
            f"cluster {cluster} has the scheduler {release}, which would place pods "
            "of the arms; `helm uninstall` it, or leave --cluster out to compare on a "
            "cluster of its own"
        )


class SeveralScenariosError(StowageError):
    """More than one scenario is meant."""

    exit_code = 2

    def __init__(self, asked: str, found: Sequence[str]) -> None:
        super().__init__(
            f"{asked!r} means {len(found)} scenarios ({', '.join(found[:4])}); compare "
            "one at a time, by its name or with --variant"
        )


class LimitsUnknownError(StowageError):
    """Client limits of an unknown kind."""

    exit_code = 2

    def __init__(self, word: str) -> None:
        super().__init__(
            f"--limits {word!r} is neither `own` (each scheduler's own) nor `equal` "
            "(the same for all); name one or both, as in own,equal"
        )
