"""Pods a second in process: the score cache beside the stock scheduler, on one core."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import yaml

from benchmarks.command import Say, write_figures
from benchmarks.scope import Scope, ScopeName
from benchmarks.score_cache.workload import Case, Workload
from stowage_testbed.metrics.distribution import compute_spread, jain_index
from stowage_testbed.simulate import Instance, Placements, Simulator, find_profile
from stowage_testbed.text.figure import Figure, at_least, at_most, figure


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of one arm on one case.

    Attributes
    ----------
    case, arm, round_number
        Which run it was.
    pods_s, pods_cpu_s
        Pods placed a second, by the process's own clock, and a second of processor
        time, which others on the machine take nothing from.
    placed, pending
        Pods.
    jain, cv
        Jain's index and the coefficient of variation of pods a node.
    counters
        What the scheduler's plugins counted.
    """

    case: str
    arm: str
    round_number: int
    pods_s: float
    pods_cpu_s: float
    placed: int
    pending: int
    jain: float
    cv: float
    counters: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        return asdict(self)


def outcome_of(
    case: str, arm: str, round_number: int, instance: Instance, found: Placements
) -> Outcome:
    """Return what ``found`` says of a measured run of ``instance``."""
    if found.measurement is None:
        raise ValueError(f"{case}: {arm} was not measured; ask for it in the instance")
    by_node = Counter({node["metadata"]["name"]: 0 for node in instance.nodes})
    by_node.update(node for node in found.nodes.values() if node)
    pods = list(by_node.values())
    cv, index = compute_spread(pods)["cv"], jain_index(pods)
    if cv is None or index is None:
        raise ValueError(f"{case}: {arm} placed nothing")
    placed = sum(pods)
    return Outcome(
        case=case,
        arm=arm,
        round_number=round_number,
        pods_s=placed / found.measurement.pods_s,
        pods_cpu_s=placed / found.measurement.cpu_s,
        placed=placed,
        pending=len(found.nodes) - placed,
        jain=float(index),
        cv=cv,
        counters=dict(found.measurement.counters),
    )


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
    """What a run of the benchmark covers."""

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


FASTER = at_least(3)
"""Asked for with equal pods on 5,000 nodes."""
WANTED = (Workload.EQUAL, 5000)
EVEN_ENOUGH = 0.0
HIT_SHARE = "score_cache_hits_total"


def score_cache_figures(outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield every figure, case by case."""
    for case in dict.fromkeys(one.case for one in outcomes):
        of_case = [one for one in outcomes if one.case == case]
        for arm in ARMS:
            runs = [one for one in of_case if one.arm == arm.name]
            yield from _of_arm(case, arm.name, arm.note, runs)
        yield from _compared(case, of_case)


def _of_arm(
    case: str, arm: str, note: str, runs: Sequence[Outcome]
) -> Iterator[Figure]:
    name = f"{case}: {arm}"
    speeds = [one.pods_s for one in runs]
    yield figure(f"{name}: speed", "pods/s", speeds, median, note=note)
    busy = [one.pods_cpu_s for one in runs]
    yield figure(f"{name}: speed of its processor time", "pods/s", busy, median)
    yield figure(f"{name}: Jain's index", "", [one.jain for one in runs], min)
    yield figure(f"{name}: CV", "", [one.cv for one in runs], max)
    if arm == CACHE.name:
        shares = [100 * one.counters.get(HIT_SHARE, 0) / one.placed for one in runs]
        yield figure(f"{name}: placed by a ranking of earlier pods", "%", shares, min)


def _compared(case: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    stock = {one.round_number: one for one in outcomes if one.arm == STOCK.name}
    pairs = [
        (one, stock[one.round_number])
        for one in outcomes
        if one.arm == CACHE.name and one.round_number in stock
    ]
    wanted = case == "{}, {} nodes".format(*WANTED)
    faster = FASTER if wanted else None
    note = "round by round"
    ratios = [cache.pods_s / rival.pods_s for cache, rival in pairs]
    name = f"{case}: score-cache over stock"
    yield figure(name, "x", ratios, median, faster, note=note)
    busy = [cache.pods_cpu_s / rival.pods_cpu_s for cache, rival in pairs]
    yield figure(f"{name}, processor time", "x", busy, median, faster, note=note)
    even = [cache.jain - rival.jain for cache, rival in pairs]
    yield figure(
        f"{case}: Jain's index beside stock's", "", even, min, at_least(EVEN_ENOUGH),
        note="the least of the rounds' differences",
    )  # fmt: skip
    fewer = [float(rival.placed - cache.placed) for cache, rival in pairs]
    yield figure(f"{case}: pods that only stock places", "pods", fewer, max, at_most(0))


NAME = "bench-score-cache"


def run_benchmark(scope: CacheScope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-score-cache.json``, return the table."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="sto-arms-") as folder:
        for case in scope.cases():
            outcomes += run_rounds(case, ARMS, scope.rounds, Path(folder), say)
    figures = list(score_cache_figures(outcomes))
    about = {"scope": scope.name, "cores": 1}
    kept = [one.document() for one in outcomes]
    return write_figures(results / f"{NAME}.json", figures, about, outcomes=kept)
