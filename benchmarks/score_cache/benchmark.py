"""Pods a second in process: the score cache beside the stock scheduler, on one core."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engine import Rounds, Say, Scope, ScopeName, build_of, paired_ratios, ratio_figure, turned
from stowage_testbed.metrics.catalogue import compute_spread, jain_index
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.simulate.instance import Instance, Placements
from stowage_testbed.simulate.process import Simulator, find_profile
from stowage_testbed.text.figure import Figure, at_least, at_most, figure

Manifest = dict[str, Any]

CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110"}
ZONES = 3
ZONE_KEY = "topology.kubernetes.io/zone"
APP = {"app": "burst"}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "burst"}, "spec": {"selector": APP}}
SPREADING = {
    "maxSkew": 1,
    "topologyKey": ZONE_KEY,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": APP},
}
SMALL_CPU_MILLI = 100
SMALL_MEMORY_MIB = 256
FULL_CPU_MILLI = 5000
"""More than half of a node: no second pod of that size fits."""


class Workload(StrEnum):
    """Which pods arrive.

    ``EQUAL``: all alike, of no service. ``TWO_KINDS``, ``TEN_KINDS``: that many sizes in turn. ``UNEQUAL``: no two
    alike. ``SERVICE``: alike, and of a Service, so that the stock scheduler spreads them over hosts and zones as it
    does a Deployment's. ``SPREAD``: alike, with a hard constraint over zones. ``ONE_A_NODE``: alike, and so large that
    a node takes one.
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
        pods = min(self.pods, self.nodes) if self.workload is Workload.ONE_A_NODE else self.pods
        return Instance(
            id=self.name,
            nodes=tuple(_node(number) for number in range(self.nodes)),
            pods=tuple(_pod(number, self.workload) for number in range(pods)),
            objects=(SERVICE,) if self.workload is Workload.SERVICE else (),
            arrival="AtOnce",
            measure=True,
        )


def _node(number: int) -> Manifest:
    name = f"node-{number:05d}"
    labels = {"kubernetes.io/hostname": name, ZONE_KEY: f"zone-{number % ZONES}"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": CAPACITY}}


def _pod(number: int, workload: Workload) -> Manifest:
    kind = number if workload is Workload.UNEQUAL else number % KINDS.get(workload, 1)
    # Different enough to be other kinds, alike enough for the same node to be best.
    cpu_milli, memory_mib = SMALL_CPU_MILLI + kind % 100, SMALL_MEMORY_MIB + kind // 100
    if workload is Workload.ONE_A_NODE:
        cpu_milli = FULL_CPU_MILLI
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    spec: Manifest = {"containers": [{"name": "c", "image": "pause", "resources": {"requests": requests}}]}
    if workload is Workload.SPREAD:
        spec["topologySpreadConstraints"] = [SPREADING]
    return {"metadata": {"name": f"pod-{number:05d}", "labels": APP}, "spec": spec}


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
    by_node = Counter({node["metadata"]["name"]: 0 for node in instance.nodes})
    by_node.update(node for node in found.nodes.values() if node)
    pods = list(by_node.values())
    cv, index, took = compute_spread(pods)["cv"], jain_index(pods), found.measurement
    if cv is None or index is None or took is None:
        raise ValueError(f"{case}: {arm} placed nothing, or was not measured")
    placed = sum(pods)
    return Outcome(
        case=case,
        arm=arm,
        round_number=round_number,
        pods_s=placed / took.pods_s,
        pods_cpu_s=placed / took.cpu_s,
        placed=placed,
        pending=len(found.nodes) - placed,
        jain=float(index),
        cv=cv,
        counters=dict(took.counters),
    )


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
    """What a run of the benchmark covers: the smallest cases come first."""

    sizes: tuple[tuple[int, int], ...]
    workloads: tuple[Workload, ...]
    rounds: int

    def cases(self) -> list[Case]:
        """Return the cases."""
        return [Case(workload, *size) for size in self.sizes for workload in self.workloads]


EVERYTHING = tuple(Workload)

SMOKE = CacheScope(ScopeName.SMOKE, ((100, 400),), EVERYTHING, 1)
DEFAULT = CacheScope(ScopeName.DEFAULT, ((100, 2000), (1000, 5000), (5000, 10000)), EVERYTHING, 3)
FULL = CacheScope(ScopeName.FULL, ((100, 5000), (1000, 10000), (5000, 20000)), EVERYTHING, 7)

SCOPES = (SMOKE, DEFAULT, FULL)


TIMEOUT_S = 600.0
ONE_CORE = {"GOMAXPROCS": "1"}


def run_round(case: Case, number: int, say: Say) -> Iterator[Outcome]:
    """Yield what each arm gave in a round, in a process of its own, on one core."""
    instance = case.instance()
    for arm in turned(ARMS, number):
        with Simulator(
            find_profile(arm.profile), timeout_s=TIMEOUT_S, feature_gates=arm.feature_gates, environment=ONE_CORE
        ) as simulator:
            found = simulator.place(instance)
        outcome = outcome_of(case.name, arm.name, number, instance, found)
        say(f"{case.name}: round {number + 1}, {arm.name}: {outcome.pods_s:.0f} pods/s, Jain {outcome.jain:.4f}")
        yield outcome


FASTER = 3.0
"""Asked for with equal pods on 5,000 nodes."""
WANTED = (Workload.EQUAL, 5000)
EVEN_ENOUGH = 0.0
HIT_SHARE = "score_cache_hits_total"


def score_cache_figures(case: str, outcomes: Sequence[Outcome]) -> Iterator[Figure]:
    """Yield every figure of a case."""
    by_arm = {arm: {one.round_number: one for one in outcomes if one.arm == arm.name} for arm in ARMS}
    for arm, of_rounds in by_arm.items():
        name, runs = f"{case}: {arm.name}", of_rounds.values()
        yield figure(f"{name}: speed", "pods/s", [one.pods_s for one in runs], median)
        yield figure(f"{name}: speed of its processor time", "pods/s", [one.pods_cpu_s for one in runs], median)
        yield figure(f"{name}: Jain's index", "", [one.jain for one in runs], min)
        yield figure(f"{name}: CV", "", [one.cv for one in runs], max)
        if arm is CACHE:
            shares = [100 * one.counters.get(HIT_SHARE, 0) / one.placed for one in runs]
            yield figure(f"{name}: placed by a ranking of earlier pods", "%", shares, min)
    cache, stock = by_arm[CACHE], by_arm[STOCK]
    faster = FASTER if case == "{}, {} nodes".format(*WANTED) else None
    for what in ("pods_s", "pods_cpu_s"):
        ratios = paired_ratios(*({n: getattr(one, what) for n, one in arm.items()} for arm in (cache, stock)))
        more = ", processor time" if what == "pods_cpu_s" else ""
        yield ratio_figure(f"{case}: score-cache over stock{more}", ratios, faster)
    even = [cache[n].jain - stock[n].jain for n in cache]
    yield figure(
        f"{case}: Jain's index beside stock's", "", even, min, at_least(EVEN_ENOUGH),
        note="the least of the rounds' differences",
    )  # fmt: skip
    fewer = [float(stock[n].placed - cache[n].placed) for n in cache]
    yield figure(f"{case}: pods that only stock places", "pods", fewer, max, at_most(0))


NAME = "bench-score-cache"


def run_benchmark(scope: CacheScope, results: Path, say: Say) -> str:
    """Measure, write ``<results>/bench-score-cache.json``, return the table."""
    rounds = Rounds(results / NAME / f"outcomes-{build_of('stowage-simulate')}.jsonl", Outcome)
    outcomes, figures = list[Outcome](), list[Figure]()
    for case in scope.cases():
        task = f"{case.name}, {case.pods} pods"
        of_case = [
            one
            for number in range(scope.rounds)
            for one in rounds.measured(f"{task}, round {number}", partial(run_round, case, number, say))
        ]
        figures += score_cache_figures(case.name, of_case)
        outcomes += of_case
    about = {"scope": scope.name, "cores": 1}
    return write_figures(results / f"{NAME}.json", figures, about, outcomes=[asdict(one) for one in outcomes])
