"""A made day: pods of a few kinds that come, run and end, more of them by day."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from stowage_testbed.policyday.drawing import draw_time, make_template
from stowage_testbed.trace.format import (
    Header,
    How,
    Line,
    Node,
    NodeSeen,
    Owner,
    PodCame,
    PodEnded,
)
from stowage_testbed.trace.reading import Trace

NAMESPACE = "day"
ZONES = 3
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}
CORES = 16

KINDS = (
    # cpu in milli, memory in Mi, priority, weight
    (250, 512, 0, 40),
    (500, 1024, 0, 30),
    (1000, 2048, 100, 20),
    (2000, 8192, 0, 8),
    (4000, 16384, 1000, 2),
)


@dataclass(frozen=True, slots=True)
class Day:
    """How much happens.

    Attributes
    ----------
    load
        Mean requested share of the nodes' CPU, once the day has run in.
    """

    arrivals: int
    nodes: int
    hours: float = 24.0
    load: float = 0.6
    seed: int = 1


def make_day(day: Day) -> Trace:
    """Return a day as a trace; the same for the same day."""
    header = Header(1, "2026-01-01T00:00:00Z", "1.37.2", {NAMESPACE: {}})
    nodes = (_make_node(number) for number in range(day.nodes))
    templates = (_make_template(number) for number in range(len(KINDS)))
    pods = sorted(_draw_pods(day), key=lambda line: line.t)
    return Trace(header, (*nodes, *templates, *pods))


def _make_node(number: int) -> Line:
    name = f"node-{number:04}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{number % ZONES}",
    }
    return NodeSeen(t=0.0, name=name, node=Node(ROOM, ROOM, labels))


def _make_template(number: int) -> Line:
    cpu_milli, memory_mib, priority, _ = KINDS[number]
    return make_template(f"kind-{number}", cpu_milli, memory_mib, priority)


def _draw_pods(day: Day) -> Iterator[Line]:
    draw = random.Random(day.seed)  # noqa: S311 - no secret
    weights = [weight for *_, weight in KINDS]
    mean_cores = sum(cpu * weight for cpu, _, _, weight in KINDS) / 1000 / sum(weights)
    window_s = day.hours * 3600
    mean_life_s = day.load * day.nodes * CORES * window_s / (day.arrivals * mean_cores)
    for number in range(day.arrivals):
        # Kept to milliseconds, as a recording has them.
        t = round(draw_time(draw) * window_s, 3)
        kind = draw.choices(range(len(KINDS)), weights)[0]
        ran_s = round(draw.expovariate(1 / mean_life_s), 3)
        name = f"job-{number:06}"
        yield PodCame(
            t=t, namespace=NAMESPACE, name=name, of=f"kind-{kind}",
            owner=Owner("Job", f"kind-{kind}"),
        )  # fmt: skip
        if t + ran_s <= window_s:
            how: How = "succeeded"
            yield PodEnded(
                t=t + ran_s, namespace=NAMESPACE, name=name, how=how, ran_s=ran_s
            )
