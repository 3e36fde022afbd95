"""Pods a second in process: the score cache beside the stock scheduler, on one core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from benchmarks.command import Say, Scope, ScopeName, write_figures
from stowage_testbed.metrics.distribution import compute_spread, jain_index
from stowage_testbed.simulate import Instance, Placements, Simulator, find_profile
from stowage_testbed.text.figure import Figure, at_least, at_most, figure

Manifest = dict[str, Any]

NODE_CPU_MILLI = 8000
NODE_MEMORY_MIB = 32768
NODE_PODS = 110
ZONES = 3
ZONE_KEY = "topology.kubernetes.io/zone"
APP = {"app": "burst"}
SMALL_CPU_MILLI = 100
SMALL_MEMORY_MIB = 256
FULL_CPU_MILLI = 5000
"""More than half of a node: no second pod of that size fits."""


class Workload(StrEnum):
    """Which pods arrive.

    ``EQUAL``: all alike, of no service. ``TWO_KINDS``, ``TEN_KINDS``: that many sizes
    in turn. ``UNEQUAL``: no two alike. ``SERVICE``: alike, and of a Service, so that
    the stock scheduler spreads them over hosts and zones as it does a Deployment's.
    ``SPREAD``: alike, with a hard constraint over zones. ``ONE_A_NODE``: alike, and so
    large that a node takes one.
    """

    EQUAL = "equal"
    TWO_KINDS = "two-kinds"
    TEN_KINDS = "ten-kinds"
    UNEQUAL = "unequal"
    SERVICE = "service"
    SPREAD = "hard-spread"
    ONE_A_NODE = "one-a-node"


KINDS = {Workload.TWO_KINDS: 2, Workload.TEN_KINDS: 10}


@dataclass(frozen=True, slots=True)
class Case:
    """A workload at a size."""

    workload: Workload
    nodes: int
    pods: int

    @property
    def name(self) -> str:
        """Return the case as text, as in ``equal, 5000 nodes``."""
        return f"{self.workload}, {self.nodes} nodes"

    def instance(self) -> Instance:
        """Return the cluster and the pods, which all arrive at once."""
        pods = min(self.pods, self.nodes) if self._fills_nodes() else self.pods
        service = self.workload is Workload.SERVICE
        return Instance(
            id=self.name,
            nodes=tuple(_node(number) for number in range(self.nodes)),
            pods=tuple(_pod(number, self.workload) for number in range(pods)),
            objects=(_service(),) if service else (),
            arrival="AtOnce",
            measure=True,
        )

    def _fills_nodes(self) -> bool:
        return self.workload is Workload.ONE_A_NODE


def _node(number: int) -> Manifest:
    name = f"node-{number:05d}"
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE_KEY: f"zone-{number % ZONES}"}},
        "status": {"capacity": {"cpu": f"{NODE_CPU_MILLI}m", "memory": f"{NODE_MEMORY_MIB}Mi", "pods": str(NODE_PODS)}},
    }


def _pod(number: int, workload: Workload) -> Manifest:
    cpu_milli, memory_mib = _size(number, workload)
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    spec: Manifest = {"containers": [{"name": "c", "image": "pause", "resources": {"requests": requests}}]}
    if workload is Workload.SPREAD:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE_KEY,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": APP},
            }
        ]
    return {"metadata": {"name": f"pod-{number:05d}", "labels": APP}, "spec": spec}


def _size(number: int, workload: Workload) -> tuple[int, int]:
    if workload is Workload.ONE_A_NODE:
        return FULL_CPU_MILLI, SMALL_MEMORY_MIB
    kinds = KINDS.get(workload, 1)
    kind = number if workload is Workload.UNEQUAL else number % kinds
    # Different enough to be other kinds, alike enough for the same node to be best.
    return SMALL_CPU_MILLI + kind % 100, SMALL_MEMORY_MIB + kind // 100


def _service() -> Manifest:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "burst"}, "spec": {"selector": APP}}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of one arm on one case, by the process's own clock.

    A second of processor time is one that others on the machine take nothing from.
    ``jain`` and ``cv`` are of pods a node, and the counters the plugins' own.
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


def outcome_of(case: str, arm: str, round_number: int, instance: Instance, found: Placements) -> Outcome:
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
    """One scheduler: a shipped profile, and gates as kube-scheduler takes them."""

    name: str
    profile: str
    feature_gates: str = ""


STOCK = Arm("stock", "default")
CACHE = Arm("score-cache", "score-cache")
ARMS = (STOCK, Arm("stock-batching", "default", "OpportunisticBatching=true"), CACHE)


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
DEFAULT = CacheScope(ScopeName.DEFAULT, ((100, 2000), (1000, 5000), (5000, 10000)), EVERYTHING, 3)
FULL = CacheScope(ScopeName.FULL, ((100, 5000), (1000, 10000), (5000, 20000)), EVERYTHING, 7)

SCOPES = (SMOKE, DEFAULT, FULL)


TIMEOUT_S = 600.0
ONE_CORE = {"GOMAXPROCS": "1"}


def run_rounds(case: Case, rounds: int, say: Callable[[str], None]) -> Iterator[Outcome]:
    """Yield what each arm gave in each round.

    Each run has a process of its own, on one core.
    """
    instance = case.instance()
    for number in range(rounds):
        for arm in turned(ARMS, number):
            simulator = Simulator(
                find_profile(arm.profile), timeout_s=TIMEOUT_S, feature_gates=arm.feature_gates, environment=ONE_CORE
            )
            with simulator:
                found = simulator.place(instance)
            outcome = outcome_of(case.name, arm.name, number, instance, found)
            say(f"{case.name}: round {number + 1}, {arm.name}: {outcome.pods_s:.0f} pods/s, Jain {outcome.jain:.4f}")
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
            yield from _of_arm(case, arm.name, runs)
        yield from _compared(case, of_case)


def _of_arm(case: str, arm: str, runs: Sequence[Outcome]) -> Iterator[Figure]:
    name = f"{case}: {arm}"
    speeds = [one.pods_s for one in runs]
    yield figure(f"{name}: speed", "pods/s", speeds, median)
    busy = [one.pods_cpu_s for one in runs]
    yield figure(f"{name}: speed of its processor time", "pods/s", busy, median)
    yield figure(f"{name}: Jain's index", "", [one.jain for one in runs], min)
    yield figure(f"{name}: CV", "", [one.cv for one in runs], max)
    if arm == CACHE.name:
        shares = [100 * one.counters.get(HIT_SHARE, 0) / one.placed for one in runs]
        yield figure(f"{name}: placed by a ranking of earlier pods", "%", shares, min)


def _compared(case: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    stock = {one.round_number: one for one in outcomes if one.arm == STOCK.name}
    pairs = [(one, stock[one.round_number]) for one in outcomes if one.arm == CACHE.name and one.round_number in stock]
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
    for case in scope.cases():
        outcomes += run_rounds(case, scope.rounds, say)
    figures = list(score_cache_figures(outcomes))
    about = {"scope": scope.name, "cores": 1}
    kept = [asdict(one) for one in outcomes]
    return write_figures(results / f"{NAME}.json", figures, about, outcomes=kept)
