"""What came of a run: values that tables, bundles and tests are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from stowage_testbed.base.errors import StowageError
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.run.latency import Latency
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step


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
class CheckpointRecord:
    """Pods and nodes at a checkpoint, and figures of what led to it.

    Attributes
    ----------
    is_planned
        Whether an optimiser served, then or before.
    latency, duration_s
        Of the measured window, if it was closed since the checkpoint before; else of
        all since then.
    """

    name: str
    state: ClusterState
    utilisation: Mapping[str, Fraction]
    placement_hash: str
    latency: Latency
    duration_s: float
    is_planned: bool = False

    @property
    def placed(self) -> int:
        """Number of pods that have a node."""
        return len(self.state.bound)

    @property
    def pending(self) -> int:
        """Number of pods that have none."""
        return len(self.state.pending)


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """One scenario run once.

    Attributes
    ----------
    repeat
        Which round it was, from 1.
    steps
        Those that were begun, in order.
    checkpoints
        Those that were reached, in order.
    checks
        Of the steps and checkpoints, of the metrics, and of the invariants.
    window, record
        What was measured; ``None`` if no step said so, or it was not reached.
    metrics
        Of the window that the steps measured; empty without one.
    recovery
        What was recorded of a service that was overloaded, if one was.
    evidence
        What the scenario's `catch` names, by file name; empty if nothing failed.
    plans
        The PackingPlans, in order.
    error
        Why the scenario could not be carried through; empty if it was.
    refused
        Whether the API server does not take what the scenario writes.
    skipped
        What the cluster lacks that the scenario needs; empty if it was run.
    durations_s
        Seconds by what they were spent on, in order; those of steps by the checkpoint
        that they led to.
    """

    scenario: Scenario
    repeat: int
    steps: tuple[StepRecord, ...] = ()
    checkpoints: tuple[CheckpointRecord, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    window: Window | None = None
    record: RunRecord | None = None
    metrics: tuple[Metric, ...] = ()
    recovery: HpaRecord | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)
    plans: tuple[ObservedPlan, ...] = ()
    error: str = ""
    refused: bool = False
    skipped: str = ""
    durations_s: Mapping[str, float] = field(default_factory=dict)

    def checkpoint(self, name: str) -> CheckpointRecord:
        """Return a checkpoint by its name.

        Raises
        ------
        StowageError
            It was not reached; names those that were.
        """
        reached = {one.name: one for one in self.checkpoints}
        if name not in reached:
            known = ", ".join(reached) or "none"
            raise StowageError(f"checkpoint {name} was not reached; reached: {known}")
        return reached[name]

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def failures(self) -> list[str]:
        """The checks that did not hold, in a line each."""
        return [f"{check.name}: expected {check.expected}, got {check.actual}" for check in self.failed_checks]

    @property
    def passed(self) -> bool:
        """Whether the scenario was carried through, or skipped, and no check failed."""
        return not self.error and not self.failed_checks

    @property
    def moves(self) -> int:
        """Pods that changed their node, over all plans."""
        return sum(plan.moves for plan in self.plans if plan.executes)

    @property
    def evictions(self) -> int:
        """Pods that lost their node, over all plans."""
        return sum(plan.evictions for plan in self.plans if plan.executes)

    @property
    def optimal(self) -> bool | None:
        """Whether the last plan was proved optimal; ``None`` without a plan."""
        return self.plans[-1].optimal if self.plans else None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two rounds of one scenario that did not place alike."""

    scenario_id: str
    repeat: int
    first_hash: str
    other_hash: str
    workload: str
    first_nodes: tuple[str, ...]
    other_nodes: tuple[str, ...]

    def in_words(self) -> str:
        """Return what differs, in one line."""
        return (
            f"{self.scenario_id}: round {self.repeat} placed otherwise than round 1: "
            f"the first workload that differs is {self.workload}, "
            f"then on {', '.join(self.first_nodes) or 'no node'}, "
            f"now on {', '.join(self.other_nodes) or 'no node'} "
            f"(hashes {self.first_hash[:12]} and {self.other_hash[:12]})"
        )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """All scenarios of a run, and whether their rounds agree.

    ``error`` says why a run ended early; the outcomes are then those that were had.
    ``error_code`` is what the command exits with for that.
    """

    run_id: str
    started: str
    cluster: str
    outcomes: tuple[ScenarioOutcome, ...]
    divergences: tuple[Divergence, ...]
    durations_s: Mapping[str, float]
    error: str = ""
    error_code: int = 1

    @property
    def passed(self) -> bool:
        """Whether every scenario passed and all rounds placed alike."""
        return not self.error and not self.divergences and all(outcome.passed for outcome in self.outcomes)
