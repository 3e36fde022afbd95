"""What came of a run: values that tables, bundles and tests are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.run.latency import Latency
from stowage_testbed.run.steps.outcome import SteppedOutcome
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class PhaseOutcome:
    """The settled state after one phase, and its figures."""

    state: ClusterState
    utilisation: Mapping[str, Fraction]
    placement_hash: str
    latency: Latency
    duration_s: float
    checks: tuple[CheckResult, ...] = ()

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
    before, after
        The deterministic phase and the optimiser's; ``None`` where a phase did not
        settle, and in a scenario with steps.
    end
        When the steps were over; ``None`` in a scenario without.
    stepped
        The steps themselves.
    metrics
        Of the window that the steps measured; empty without one.
    plans
        The PackingPlans of the optimiser's phase, in order.
    error
        Why the scenario could not be carried through; empty if it was.
    skipped
        What the cluster lacks that the scenario needs; empty if it was run.
    durations_s
        Seconds by step, in order.
    machine
        Which worker ran it; empty on the machine of the run itself.
    """

    scenario: Scenario
    repeat: int
    before: PhaseOutcome | None = None
    after: PhaseOutcome | None = None
    end: PhaseOutcome | None = None
    stepped: SteppedOutcome | None = None
    metrics: tuple[Metric, ...] = ()
    plans: tuple[ObservedPlan, ...] = ()
    error: str = ""
    skipped: str = ""
    durations_s: Mapping[str, float] | None = None
    machine: str = ""

    @property
    def phases(self) -> tuple[PhaseOutcome, ...]:
        """The phases that were reached, in order."""
        phases = (self.before, self.after, self.end)
        return tuple(phase for phase in phases if phase is not None)

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """All checks of all phases."""
        return tuple(check for phase in self.phases for check in phase.checks)

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def failures(self) -> list[str]:
        """The checks that did not hold, in a line each."""
        return [
            f"{check.name}: expected {check.expected}, got {check.actual}"
            for check in self.failed_checks
        ]

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
        return (
            not self.error
            and not self.divergences
            and all(outcome.passed for outcome in self.outcomes)
        )
