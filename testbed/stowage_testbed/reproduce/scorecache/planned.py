"""One comparison that the benchmark makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.compare.catalogue import choose_arms
from stowage_testbed.compare.session.choosing import one_scenario
from stowage_testbed.compare.session.request import CompareRequest, LimitsKind
from stowage_testbed.run.arm import ClientLimits

EVERY_ARM = ("default", "stowage", "stowage-score-cache", "koordinator", "yunikorn")
LIFTED_QPS = 5000
"""More than any of them can ask for on one machine."""

EQUAL_QPS = 1000


@dataclass(frozen=True, slots=True)
class Planned:
    """One scenario, its arms and rounds.

    Attributes
    ----------
    name
        Of its folder and in its figures.
    own
        Run every arm with its own client limits too, as different as they are.
    qps, burst
        Equal client limits.
    metrics
        Those that become figures.
    """

    name: str
    scenario: str
    rounds: int
    variant: str | None = None
    arms: tuple[str, ...] = EVERY_ARM
    own: bool = False
    qps: int = EQUAL_QPS
    burst: int = EQUAL_QPS
    warm_up: int = 50
    metrics: tuple[str, ...] = (
        "placed_pods",
        "t_sched_mean_s",
        "t_sched_p99_s",
        "throughput_pods_per_s",
        "jain_pods",
        "scheduler_memory_peak_bytes",
        "scheduler_cpu_s",
    )

    def request(self, scenarios: Path, results: Path) -> CompareRequest:
        """Return what is asked of the comparison.

        Parameters
        ----------
        scenarios
            Folder of the scenario files.
        results
            Folder of all comparisons.
        """
        equal: Mapping[LimitsKind, ClientLimits | None] = {
            "equal": ClientLimits(self.qps, self.burst)
        }
        return CompareRequest(
            scenario=one_scenario(self.scenario, scenarios, self.variant),
            arms=tuple(choose_arms(self.arms)),
            folder=results / self.name,
            rounds=self.rounds,
            limits={"own": None, **equal} if self.own else equal,
            warm_up=self.warm_up,
            allow_unfair=self.own,
        )
