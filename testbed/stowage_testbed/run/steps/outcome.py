"""What came of the steps of one scenario: values for reports and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.action import Step

EMPTY = ClusterState((), ())


@dataclass(frozen=True, slots=True)
class Window:
    """What is measured lies between these two moments."""

    start: Receipt
    stop: Receipt

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.stop.seconds_since(self.start)

    def holds(self, moment: Receipt) -> bool:
        """Return whether a moment lies in it."""
        return self.start <= moment <= self.stop


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that was begun.

    Attributes
    ----------
    duration_s
        Until it was done or failed.
    facts
        What else is worth knowing, as in how many pods came late.
    error
        Why it failed; empty if it did not.
    """

    step: Step
    duration_s: float
    facts: Mapping[str, float] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class SteppedOutcome:
    """The steps of one scenario, carried out once.

    Attributes
    ----------
    steps
        Those that were begun, in order.
    window
        What is measured; ``None`` if no step said so, or it was not reached.
    checks
        Of the steps, then of the end.
    state
        Nodes and pods when it was over, also when a step failed.
    evidence
        What the scenario's `catch` names, by file name; empty if nothing failed.
    error
        Which step failed and why; empty if none did.
    values
        What the scenario's last expressions read; empty if it has none.
    recovery
        What was recorded of a service that was overloaded, if one was.
    """

    steps: tuple[StepRecord, ...] = ()
    window: Window | None = None
    checks: tuple[CheckResult, ...] = ()
    state: ClusterState = EMPTY
    evidence: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    recovery: HpaRecord | None = None

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)
