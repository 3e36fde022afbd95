"""A run as its document says it: what tables are made from, live or years later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.base.errors import InputError
from stowage_testbed.report.bundle import RUN_FILE
from stowage_testbed.report.document import FORMAT, make_run_document
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.scenario.check import CheckResult


@dataclass(frozen=True, slots=True)
class SavedLatency:
    """Percentiles from creation to binding, in seconds, by name: ``p50``."""

    n: int
    clock: str
    resolution_s: float
    audit_lag_s: float | None
    percentiles_s: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The state at a checkpoint; see `stowage_testbed.run.outcome`."""

    name: str
    placed: int
    pending: int
    utilisation: Mapping[str, float]
    placement_hash: str
    is_planned: bool
    latency: SavedLatency


@dataclass(frozen=True, slots=True)
class SavedStep:
    """A step that was begun; see `stowage_testbed.run.outcome`."""

    number: int
    kind: str
    line: int
    facts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SavedScenario:
    """One scenario run once; the same words as in `stowage_testbed.run.outcome`."""

    scenario: str
    repeat: int
    passed: bool
    error: str
    moves: int
    evictions: int
    variant: str | None = None
    steps: tuple[SavedStep, ...] = ()
    checkpoints: tuple[SavedCheckpoint, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    optimal: bool | None = None
    skipped: str = ""
    durations_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def scenario_id(self) -> str:
        """The scenario with its variant."""
        return f"{self.scenario}@{self.variant}" if self.variant else self.scenario

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def is_planned(self) -> bool:
        """Whether plans could be made in it."""
        return any(one.is_planned for one in self.checkpoints)


@dataclass(frozen=True, slots=True)
class SavedDivergence:
    """Two rounds of one scenario that did not place alike."""

    scenario: str
    repeat: int
    workload: str
    first_nodes: tuple[str, ...]
    other_nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """All of a run."""

    format: str
    run: str
    started: str
    passed: bool
    error: str
    durations_s: Mapping[str, float]
    scenarios: tuple[SavedScenario, ...]
    divergences: tuple[SavedDivergence, ...]
    environment: Mapping[str, Any] = field(default_factory=dict)


def make_saved_run(outcome: RunOutcome, environment: dict[str, Any]) -> SavedRun:
    """Return a run as its document will say it."""
    return msgspec.convert(make_run_document(outcome, environment), SavedRun)


def read_run(folder: Path) -> SavedRun:
    """Return the run of a results bundle.

    Raises
    ------
    InputError
        There is none, it cannot be read, or is of another format.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} holds neither a run (run.json) nor a comparison (compare.json); "
            "name the folder that `stowage run` or `stowage compare` printed at its end"
        )
    try:
        run = msgspec.json.decode(path.read_bytes(), type=SavedRun)
    except msgspec.MsgspecError as error:
        raise _make_error(path, str(error)) from error
    if run.format != FORMAT:
        raise _make_error(path, f"format {run.format!r}, this reads {FORMAT!r}")
    return run


def _make_error(path: Path, cause: str) -> InputError:
    return InputError(
        f"{path} cannot be read: {cause}; put it back as it was written, or run the scenarios again with this version"
    )
