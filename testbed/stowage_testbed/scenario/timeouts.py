"""The deadlines of a run's operations."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.kinds import ACTIONS


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Deadlines by kind of operation, in seconds.

    They are many times what an idle machine needs (a 200-pod burst settles in 3 s), so that a busy one fails only
    where something is stuck.
    """

    prepare_s: float = 60.0
    per_node_s: float = 0.05
    release_s: float = 180.0
    settle_base_s: float = 60.0
    settle_per_pod_s: float = 0.2
    plan_base_s: float = 60.0
    cleanup_s: float = 120.0
    check_s: float = 10.0
    lateness_s: float = 60.0

    def step_s(self, scenario: Scenario, kind: str, nodes: int = 0) -> float:
        """Return the deadline of a step that changes so many nodes; `end` is what is expected of the end.

        A scenario may set its own by kind of step.
        """
        if (own := scenario.timeouts.get(kind)) is not None:
            return own
        if kind == "end":
            return self.check_s + self.settle_per_pod_s * scenario.pod_count
        match ACTIONS[kind].deadline:
            case "nodes":
                return self.nodes_s(nodes)
            case "lateness":
                return self.lateness_s
            case "settle":
                return self.plan_s(scenario) if scenario.is_planned else self.settle_s(scenario)
        return self.check_s

    def nodes_s(self, count: int) -> float:
        """Return the deadline for so many nodes to be ready, or gone."""
        return self.prepare_s + self.per_node_s * count

    def settle_s(self, scenario: Scenario) -> float:
        """Return the deadline for the workload to come to rest."""
        return self.settle_base_s + self.settle_per_pod_s * scenario.pod_count

    def plan_s(self, scenario: Scenario) -> float:
        """Return the deadline for all plans of a scenario to be made and carried out.

        A scheduler that is never certain may solve several times, each up to the limit.
        """
        solves, optimizer = 4, scenario.optimizer
        solving_s = solves * (optimizer.time_limit_s + optimizer.settle_s)
        return self.plan_base_s + self.settle_per_pod_s * scenario.pod_count + solving_s


DEFAULT_TIMEOUTS = Timeouts()
