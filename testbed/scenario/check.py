"""Expectations against what happened: every check is a value, none raises."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.metrics.state import ClusterState
from testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One expectation and what was found."""

    name: str
    passed: bool
    expected: str
    actual: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class OptimizerRecord:
    """What the PackingPlans of one run say, summed over its plans.

    ``optimal`` is of the last plan. ``solves`` counts the PackingPlans.
    """

    solves: int
    moves: int
    evictions: int
    optimal: bool


def check_deterministic(
    scenario: Scenario, before: ClusterState
) -> tuple[CheckResult, ...]:
    """Check `expect.deterministic` against the settled state before the optimiser."""
    raise NotImplementedError


def check_optimizer(
    scenario: Scenario,
    before: ClusterState,
    after: ClusterState,
    record: OptimizerRecord,
) -> tuple[CheckResult, ...]:
    """Check `expect.optimizer`, and always that the result is not worse than before."""
    raise NotImplementedError
