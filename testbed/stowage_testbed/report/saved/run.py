"""What a run's document says, as far as it is shown again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.scenario.check import CheckResult


@dataclass(frozen=True, slots=True)
class SavedPhase:
    """The state after one phase, and what was checked in it."""

    placed: int
    pending: int
    utilisation: Mapping[str, float]
    placement_hash: str
    checks: tuple[CheckResult, ...] = ()


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
    before: SavedPhase | None = None
    after: SavedPhase | None = None
    end: SavedPhase | None = None
    optimal: bool | None = None
    skipped: str = ""

    @property
    def scenario_id(self) -> str:
        """The scenario with its variant."""
        return f"{self.scenario}@{self.variant}" if self.variant else self.scenario

    @property
    def phases(self) -> tuple[SavedPhase, ...]:
        """The phases that were reached, in order."""
        phases = (self.before, self.after, self.end)
        return tuple(phase for phase in phases if phase is not None)

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        checks = (check for phase in self.phases for check in phase.checks)
        return tuple(check for check in checks if not check.passed)

    @property
    def planned(self) -> bool:
        """Whether plans could be made in it."""
        return self.after is not None or self.end is not None


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
