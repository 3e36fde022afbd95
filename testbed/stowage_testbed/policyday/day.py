"""A made day: Deployments that grow by day and shrink by night, and jobs between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from stowage_testbed.policyday.drawing import DAY_S, draw_time, load_at, make_template
from stowage_testbed.trace.format import Header, Line, Node, NodeSeen, ObjectSeen, Owner, PodCame, PodEnded, Scaled
from stowage_testbed.trace.reading import Trace

NAMESPACE = "day"
BEGAN = "2026-01-05T00:00:00Z"
"""A Monday, midnight in UTC."""

ZONES = 3

NODE_KINDS = (
    # instance type, cores, memory in GiB, price of an hour
    ("c.large", 4, 16, "0.17"),
    ("c.xlarge", 8, 32, "0.34"),
    ("c.2xlarge", 16, 64, "0.68"),
    ("m.xlarge", 8, 64, "0.45"),
)
"""Each is as common as the others."""

POD_KINDS = (
    # cpu in milli, memory in Mi, weight
    (250, 512, 40),
    (500, 1024, 30),
    (1000, 3072, 20),
    (2000, 8192, 10),
)

BUDGETS: tuple[dict[str, int | str], ...] = ({"maxUnavailable": 1}, {"minAvailable": "80%"})

SCALING_S = 900.0
"""How often the number of a Deployment's pods follows the load."""


@dataclass(frozen=True, slots=True)
class Day:
    """How much happens; the same day for the same numbers.

    Attributes
    ----------
    load
        Mean requested share of the nodes' CPU.
    of_jobs
        The share of that which jobs have.
    job_s
        Mean length of a job in seconds.
    guarded
        The share of Deployments with a disruption budget.
    priced
        Whether nodes have prices; else a plan empties as many as it can, whatever they
        would cost.
    """

    seed: int
    nodes: int
    hours: float = 24.0
    load: float = 0.45
    of_jobs: float = 0.3
    job_s: float = 3600.0
    guarded: float = 0.5
    priced: bool = True


def make_day(day: Day) -> Trace:
    """Return a day as a trace, as ``stowage record`` would have written it."""
    header = Header(1, BEGAN, "1.37.2", {NAMESPACE: {}})
    drawn = _Drawn(day)
    beginning = (*drawn.nodes(), *drawn.templates(), *drawn.objects())
    happening = sorted((*drawn.pods(), *drawn.jobs()), key=lambda line: line.t)
    end_s = day.hours * 3600
    return Trace(header, (*beginning, *(one for one in happening if one.t <= end_s)))


@dataclass(frozen=True, slots=True)
class _Deployment:
    """``mean`` is of how many pods it has over the day."""

    name: str
    kind: int
    mean: float
    budget: dict[str, int | str] | None


@dataclass(slots=True)
class _Drawn:
    day: Day
    _draw: random.Random = field(init=False)
    _deployments: list[_Deployment] = field(init=False)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.day.seed)  # noqa: S311 - no secret
        self._deployments = list(self._draw_deployments())

    def _cores(self) -> float:
        """Return the cores that are asked for on average."""
        nodes = range(self.day.nodes)
        return self.day.load * sum(NODE_KINDS[number % len(NODE_KINDS)][1] for number in nodes)

    def _draw_kind(self) -> int:
        weights = [weight for *_, weight in POD_KINDS]
        return self._draw.choices(range(len(POD_KINDS)), weights)[0]

    def _draw_deployments(self) -> Iterator[_Deployment]:
        left = self._cores() * (1 - self.day.of_jobs)
        number = 0
        while left > 0:
            kind = self._draw_kind()
            mean = self._draw.uniform(3, 24)
            budget: dict[str, int | str] | None = None
            if self._draw.random() < self.day.guarded:
                budget = self._draw.choice(BUDGETS)
            yield _Deployment(f"web-{number:03}", kind, mean, budget)
            left -= mean * POD_KINDS[kind][0] / 1000
            number += 1

    def nodes(self) -> Iterator[Line]:
        for number in range(self.day.nodes):
            name = f"node-{number:04}"
            kind, cores, memory_gib, price = NODE_KINDS[number % len(NODE_KINDS)]
            room = {"cpu": f"{cores}", "memory": f"{memory_gib}Gi", "pods": "110"}
            labels = {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": kind,
                **({"stowage.dev/hourly-price": price} if self.day.priced else {}),
                "topology.kubernetes.io/zone": f"zone-{number // 4 % ZONES}",
            }
            yield NodeSeen(t=0.0, name=name, node=Node(room, room, labels))

    def templates(self) -> Iterator[Line]:
        for one in self._deployments:
            cpu_milli, memory_mib, _ = POD_KINDS[one.kind]
            yield make_template(one.name, cpu_milli, memory_mib)
        for kind, (cpu_milli, memory_mib, _) in enumerate(POD_KINDS):
            yield make_template(f"job-{kind}", cpu_milli, memory_mib)

    def objects(self) -> Iterator[Line]:
        for one in self._deployments:
            metadata = {"name": one.name, "namespace": NAMESPACE}
            selector = {"matchLabels": {"app": one.name}}
            deployment = {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": metadata,
                "spec": {"replicas": _replicas(one, 0.0), "selector": selector},
            }
            yield ObjectSeen(t=0.0, object=deployment)
            if one.budget:
                budget = {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": metadata,
                    "spec": {"selector": selector, **one.budget},
                }
                yield ObjectSeen(t=0.0, object=budget)

    def pods(self) -> Iterator[Line]:
        """Yield the pods of Deployments; any of them goes when there are too many."""
        times = [SCALING_S * step for step in range(int(DAY_S // SCALING_S) + 1)]
        for one in self._deployments:
            owner, made = Owner("Deployment", one.name), 0
            there: list[tuple[str, float]] = []
            # Each looks at its load at another moment.
            late_s = round(self._draw.uniform(0, SCALING_S), 3)
            for before, t in pairwise([-SCALING_S, *times]):
                wanted = _replicas(one, t / DAY_S)
                at = round(t + late_s, 3) if before >= 0 else 0.0
                if there and wanted != len(there):
                    yield Scaled(
                        t=at, kind="Deployment", namespace=NAMESPACE, name=one.name,
                        replicas=wanted,
                    )  # fmt: skip
                while len(there) < wanted:
                    name = f"{one.name}-{made:05}"
                    made += 1
                    there.append((name, at))
                    yield PodCame(t=at, namespace=NAMESPACE, name=name, of=one.name, owner=owner)
                while len(there) > wanted:
                    name, came = there.pop(self._draw.randrange(len(there)))
                    yield PodEnded(
                        t=at, namespace=NAMESPACE, name=name, how="deleted",
                        ran_s=round(at - came, 3),
                    )  # fmt: skip

    def jobs(self) -> Iterator[Line]:
        mean_cores = sum(cpu * weight for cpu, _, weight in POD_KINDS) / 1000 / 100
        jobs = self._cores() * self.day.of_jobs * DAY_S / (mean_cores * self.day.job_s)
        for number in range(round(jobs)):
            t = round(draw_time(self._draw) * DAY_S, 3)
            ran_s = round(self._draw.expovariate(1 / self.day.job_s), 3)
            name, of = f"job-{number:05}", f"job-{self._draw_kind()}"
            yield PodCame(t=t, namespace=NAMESPACE, name=name, of=of, owner=Owner("Job", name))
            if t + ran_s <= self.day.hours * 3600:
                yield PodEnded(
                    t=round(t + ran_s, 3), namespace=NAMESPACE, name=name,
                    how="succeeded", ran_s=ran_s,
                )  # fmt: skip


def _replicas(deployment: _Deployment, part: float) -> int:
    """Return how many pods it has at a part of the day, one at least."""
    return max(1, round(deployment.mean * load_at(part)))
