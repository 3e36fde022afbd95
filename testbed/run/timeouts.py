"""How long each kind of wait may take, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Deadlines by kind of operation.

    They are many times what an idle machine needs (a 200-pod burst settles in 3 s), so
    that a busy one fails only where something is stuck.
    """

    prepare_s: float = 30.0
    release_s: float = 60.0
    settle_base_s: float = 60.0
    settle_per_pod_s: float = 0.2
    plan_base_s: float = 60.0
    cleanup_s: float = 60.0

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
