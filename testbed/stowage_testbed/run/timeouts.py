"""How long each kind of wait may take, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.kinds import ACTIONS


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Deadlines by kind of operation.

    They are many times what an idle machine needs (a 200-pod burst settles in 3 s), so
    that a busy one fails only where something is stuck.
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
        """Return the deadline of a step; `end` is what is expected of the end.

        A scenario may set its own by kind of step. ``nodes`` are those that the step
        changes.
        """
        own = scenario.timeouts.get(kind)
        return self._default_s(scenario, kind, nodes) if own is None else own

    def _default_s(self, scenario: Scenario, kind: str, nodes: int) -> float:
        if kind == "end":
            return self.check_s + self.settle_per_pod_s * scenario.pod_count
        deadline = ACTIONS[kind].deadline
        match deadline:
            case "nodes":
                return self.nodes_s(nodes)
            case "lateness":
                return self.lateness_s
            case "settle" if scenario.is_planned:
                return self.plan_s(scenario)
            case "settle":
                return self.settle_s(scenario)
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
        solves = 4
        return (
            self.plan_base_s
            + self.settle_per_pod_s * scenario.pod_count
            + solves * (scenario.optimizer.time_limit_s + scenario.optimizer.settle_s)
        )


DEFAULT_TIMEOUTS = Timeouts()
