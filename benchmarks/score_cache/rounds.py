"""Runs in turn: every arm once a round, in another order each round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from benchmarks.scope import Scope, ScopeName
from benchmarks.score_cache.outcome import Outcome, outcome_of
from benchmarks.score_cache.workload import Case, Workload
from stowage_testbed.simulate import Simulator, find_profile

ArmT = TypeVar("ArmT")

BATCHING = "OpportunisticBatching=true"


@dataclass(frozen=True, slots=True)
class Arm:
    """One scheduler.

    Attributes
    ----------
    name
        Stands in the figures.
    profile
        A shipped profile's name.
    feature_gates
        As kube-scheduler takes them.
    unspread
        Without PodTopologySpread's default constraints. No pod can be signed with
        them, so that batching works only without.
    note
        What must be known to read its figures.
    """

    name: str
    profile: str
    feature_gates: str = ""
    unspread: bool = False
    note: str = ""

    def config(self, folder: Path) -> Path:
        """Return the KubeSchedulerConfiguration, which may be written to ``folder``."""
        shipped = find_profile(self.profile)
        if not self.unspread:
            return shipped
        content: dict[str, Any] = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        for profile in content["profiles"]:
            profile["pluginConfig"] = [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ]
        file = folder / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file


STOCK = Arm("stock", "default")
CACHE = Arm("score-cache", "score-cache")
ARMS = (
    STOCK,
    Arm("stock-batching", "default", feature_gates=BATCHING),
    Arm(
        "unspread-batching",
        "default",
        feature_gates=BATCHING,
        unspread=True,
        note="without default spread, which keeps batching from signing any pod",
    ),
    CACHE,
)


@dataclass(frozen=True, slots=True)
class CacheScope(Scope):
    """What a run of the benchmark covers.

    Attributes
    ----------
    sizes
        Nodes, and the pods that arrive there.
    workloads
        Which pods.
    rounds
        How often each arm runs each case.
    """

    sizes: tuple[tuple[int, int], ...]
    workloads: tuple[Workload, ...]
    rounds: int

    def cases(self) -> Iterator[Case]:
        """Yield the cases, the smallest first."""
        for nodes, pods in self.sizes:
            for workload in self.workloads:
                yield Case(workload, nodes, pods)


EVERYTHING = tuple(Workload)

SMOKE = CacheScope(ScopeName.SMOKE, ((100, 400),), EVERYTHING, 1)
DEFAULT = CacheScope(
    ScopeName.DEFAULT, ((100, 2000), (1000, 5000), (5000, 10000)), EVERYTHING, 3
)
FULL = CacheScope(
    ScopeName.FULL, ((100, 5000), (1000, 10000), (5000, 20000)), EVERYTHING, 7
)

SCOPES = (SMOKE, DEFAULT, FULL)


TIMEOUT_S = 600.0
ONE_CORE = {"GOMAXPROCS": "1"}


def run_rounds(
    case: Case,
    arms: Sequence[Arm],
    rounds: int,
    folder: Path,
    say: Callable[[str], None],
) -> Iterator[Outcome]:
    """Yield what each arm gave in each round.

    Each run has a process of its own, on one core.

    Parameters
    ----------
    case
        What arrives, and where.
    arms, rounds
        The arms that are measured, and how often.
    folder
        For configurations that are made.
    say
        Receives a line for each run.

    Raises
    ------
    StowageError
        The simulator failed.
    """
    instance = case.instance()
    for number in range(rounds):
        for arm in turned(arms, number):
            simulator = Simulator(
                arm.config(folder),
                timeout_s=TIMEOUT_S,
                feature_gates=arm.feature_gates,
                environment=ONE_CORE,
            )
            with simulator:
                found = simulator.place(instance)
            outcome = outcome_of(case.name, arm.name, number, instance, found)
            say(
                f"{case.name}: round {number + 1}, {arm.name}: "
                f"{outcome.pods_s:.0f} pods/s, Jain {outcome.jain:.4f}"
            )
            yield outcome


def turned(arms: Sequence[ArmT], number: int) -> list[ArmT]:
    """Return the arms, each first in its turn: what runs first finds a cold machine."""
    start = number % len(arms)
    return [*arms[start:], *arms[:start]]
