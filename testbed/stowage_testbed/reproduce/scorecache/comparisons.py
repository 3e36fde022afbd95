"""The comparisons: forty minutes' worth, and all of them with more rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stowage_testbed.compare.arms.registry import ARMS, choose_arms
from stowage_testbed.compare.session.request import CompareListener, CompareRequest, LimitsKind, Turn, choose_scenario
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.arm import ClientLimits

LIFTED_QPS = 5000
"""More than any of them can ask for on one machine."""

EQUAL_QPS = 1000


@dataclass(frozen=True, slots=True)
class Planned:
    """One scenario, its arms and rounds, and the metrics that become figures.

    Client limits are equal; if ``own``, every arm runs with its own as well, as
    different as they are.
    """

    name: str
    scenario: str
    rounds: int
    variant: str | None = None
    arms: tuple[str, ...] = tuple(ARMS)
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
        """Return what is asked of the comparison, given the folders of all of them."""
        equal: Mapping[LimitsKind, ClientLimits | None] = {"equal": ClientLimits(self.qps, self.burst)}
        return CompareRequest(
            scenario=choose_scenario(self.scenario, scenarios, self.variant),
            arms=tuple(choose_arms(self.arms)),
            folder=results / self.name,
            rounds=self.rounds,
            limits={"own": None, **equal} if self.own else equal,
            warm_up=self.warm_up,
            allow_unfair=self.own,
        )


class ComparisonProgress(CompareListener):
    """Says the result of each turn."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def turn_finished(self, turn: Turn, record: RunRecord) -> None:
        """Say how much was placed, and in what time."""
        placed = sum(pod.node != "" for pod in record.pods)
        said = record.error or f"{placed} pods placed, {record.window_s:.1f} s"
        where = f"{turn.arm}, {turn.limits} limits, round {turn.round_number}"
        self._say(f"  {where}: {said}")


_RECOVERY_METRICS = (
    "ttr_s",
    "recovered_runs",
    "t_capacity_s",
    "ok_rate",
    "t_sched_mean_s",
    "t_ready_mean_s",
    "scheduler_memory_peak_bytes",
)

_DEPLOYMENT = Planned("deployment-200", "burst/deployment-200", rounds=3, own=True)
_COLD = replace(_DEPLOYMENT, name="deployment-200-cold", rounds=2, own=False, warm_up=0)
_LIFTED = Planned("scale-1000-lifted", "burst/scale-1000", rounds=1, qps=LIFTED_QPS,
                  burst=LIFTED_QPS)  # fmt: skip
_HELD_BACK = Planned("scale-1000-at-100-qps", "burst/scale-1000", rounds=1,
                        qps=100, burst=100)  # fmt: skip
_RECOVERY = Planned("recovery", "hpa/recovery", rounds=2, metrics=_RECOVERY_METRICS)
_ONCE = replace(_RECOVERY, arms=("default",), rounds=1)
_OUTCOMES = tuple(replace(_ONCE, name=f"recovery-{variant}", variant=variant) for variant in ("too-few", "plenty"))

DEFAULT = (_DEPLOYMENT, _COLD, _RECOVERY, *_OUTCOMES, _LIFTED, _HELD_BACK)

FULL = (
    replace(_DEPLOYMENT, rounds=10),
    replace(_COLD, rounds=10),
    replace(_RECOVERY, rounds=5),
    *_OUTCOMES,
    replace(_RECOVERY, name="recovery-full", variant="full", rounds=3),
    replace(_LIFTED, rounds=5),
    replace(_HELD_BACK, rounds=3),
    replace(_LIFTED, name="scale-5000-lifted", scenario="burst/scale-5000"),
)
