"""The deadlines of a run's operations, in seconds.

They are many times what an idle machine needs (a 200-pod burst settles in 3 s), so that a busy one fails only where
something is stuck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowage_testbed.scenario.model import Scenario
    from stowage_testbed.scenario.steps.action import Action

PREPARE_S = 60.0
PER_NODE_S = 0.05
RELEASE_S = 180.0
SETTLE_BASE_S = 60.0
SETTLE_PER_POD_S = 0.2
PLAN_BASE_S = 60.0
CLEANUP_S = 120.0
CHECK_S = 10.0
LATENESS_S = 60.0
SOLVES = 4  # A scheduler that is never certain may solve several times, each up to the limit


def step_s(scenario: Scenario, action: Action) -> float:
    """Return the deadline of a step: the scenario's own for its kind, or the default."""
    if (own := scenario.timeouts.get(action.kind)) is not None:
        return own
    match action.deadline:
        case "nodes":
            return nodes_s(action.changed_nodes)
        case "lateness":
            return LATENESS_S
        case "settle":
            return plan_s(scenario) if scenario.is_planned else settle_s(scenario)
    return CHECK_S


def end_s(scenario: Scenario) -> float:
    """Return the deadline of what is expected of the end."""
    return scenario.timeouts.get("end", CHECK_S + SETTLE_PER_POD_S * scenario.pod_count)


def nodes_s(count: int) -> float:
    """Return the deadline for so many nodes to be ready, or gone."""
    return PREPARE_S + PER_NODE_S * count


def settle_s(scenario: Scenario) -> float:
    """Return the deadline for the workload to come to rest."""
    return SETTLE_BASE_S + SETTLE_PER_POD_S * scenario.pod_count


def plan_s(scenario: Scenario) -> float:
    """Return the deadline for all plans of a scenario to be made and carried out."""
    optimizer = scenario.optimizer
    solving_s = SOLVES * (optimizer.time_limit_s + optimizer.settle_s)
    return PLAN_BASE_S + SETTLE_PER_POD_S * scenario.pod_count + solving_s
