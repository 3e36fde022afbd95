"""Which metrics of a scenario get a verdict; the others show intervals alone."""

from __future__ import annotations

from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.waiting import Measure, Overload

MOST_HEADLINES = 6
"""Each one more makes all of them harder to show."""

GENERAL = ("t_sched_mean_s", "t_sched_p99_s", "throughput_pods_per_s", "placed_pods", "jain_pods")
"""Speed, tail, rate, result, spread."""

OF_RECOVERY = ("ttr_s", "recovered_runs")
"""What is asked for first of a service that was overloaded."""


def is_measured(scenario: Scenario) -> bool:
    """Return whether a scenario opens and closes a measured window."""
    actions = [step.action for step in scenario.steps]
    edges = {action.edge for action in actions if isinstance(action, Measure)}
    return is_overloaded(scenario) or edges == {"start", "stop"}


def is_overloaded(scenario: Scenario) -> bool:
    """Return whether a service is overloaded, and its recovery measured."""
    return any(isinstance(step.action, Overload) for step in scenario.steps)


def choose_headlines(scenario: Scenario) -> tuple[str, ...]:
    """Return the headlines of a scenario, the one that leads first.

    They are those that it names; else recovery if it overloads a service, then the
    general ones, and what its own bounds are about as far as there is room.
    """
    if scenario.headlines:
        return scenario.headlines
    found = (*(OF_RECOVERY if is_overloaded(scenario) else ()), *GENERAL, *scenario.expect.metrics)
    return tuple(dict.fromkeys(found))[:MOST_HEADLINES]
