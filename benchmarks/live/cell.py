"""What is measured: a cluster's size, what a plan has to move, and what goes on beside.

Every node has the same steady pods and some CPU left, but for the large pods that
arrive not enough: each of them needs ``moves_each`` steady pods to go elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from math import ceil

from benchmarks.scope import Scope, ScopeName

PODS_A_NODE = 10
PODS_A_WORKLOAD = 25
CPU_MILLI = 1000
FREE_CPUS = 6
"""What a node has left beside its ten steady pods of one CPU."""

SLACK_MILLI = 500
"""And this much beside all of that, for the tiny pods that come and go."""

FIVE_THOUSAND = 5000


class Part(StrEnum):
    """What can be measured alone.

    ``CASE``: 500 nodes that are half full, and 250 pods of a whole node each.
    ``MOVES``: 2,000 moves on 1,000 nodes. ``PENDING``: 500 pods that need 500 moves, on
    5,000 nodes. ``RATE``: bursts that no plan concerns, beside the profile ``default``.
    ``CHURN``: 100 events a second on 5,000 nodes, beside the profile ``default``.
    ``GRID``: sizes by shares of the pods that move by events a second.
    """

    CASE = "case"
    MOVES = "moves-2000"
    PENDING = "pending-500"
    RATE = "rate"
    CHURN = "churn-100"
    GRID = "grid"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cluster and what happens on it.

    Attributes
    ----------
    nodes, node_cpu_milli
        The nodes. With several rounds they are as many equal pools, so that no round
        finds what the plan of another has left.
    pods_a_node, steady_cpu_milli, workloads
        The pods that are there before, and how many ReplicaSets they belong to.
    large, large_cpu_milli, moves_each
        The pods that arrive each round, and how many steady ones must move for each.
    events_per_s
        Creations and deletions a second of tiny pods that no plan concerns.
    burst
        Such pods that come all at once while a plan is carried out.
    rounds
        How often all of it happens, beside the profile ``default`` if ``beside``.
    window_s
        Least length of each measured window.
    """

    part: Part
    name: str
    nodes: int
    large: int
    large_cpu_milli: int
    moves_each: int = 1
    node_cpu_milli: int = (PODS_A_NODE + FREE_CPUS) * CPU_MILLI + SLACK_MILLI
    pods_a_node: int = PODS_A_NODE
    steady_cpu_milli: int = CPU_MILLI
    workloads: int = 0
    large_a_workload: int = 5
    events_per_s: int = 0
    burst: int = 0
    rounds: int = 1
    beside: bool = False
    window_s: float = 0.0
    timeout_s: float = 300.0

    @property
    def moves(self) -> int:
        """Return how many moves one round needs."""
        return self.large * self.moves_each

    @property
    def steady(self) -> int:
        """Return how many pods there are before the first round."""
        return self.nodes * self.pods_a_node


def moving(part: Part, name: str, nodes: int, moves: int, moves_each: int = 1) -> Cell:
    """Return the cell of nodes with ten pods each in which so many pods must move."""
    return Cell(
        part,
        name,
        nodes,
        large=ceil(moves / moves_each),
        large_cpu_milli=(FREE_CPUS + moves_each) * CPU_MILLI,
        moves_each=moves_each,
        workloads=ceil(nodes * PODS_A_NODE / PODS_A_WORKLOAD),
        # Four times what the chart's 40 evictions a second take, and a start.
        timeout_s=120.0 + moves / 10,
    )


def case(name: str, nodes: int, deployments: int) -> Cell:
    """Return the cell of `scenarios/plans/stock-limits.yaml`, its pods bound before."""
    return Cell(
        Part.CASE,
        name,
        nodes,
        large=nodes // 2,
        large_cpu_milli=4000,
        node_cpu_milli=4000,
        pods_a_node=1,
        steady_cpu_milli=2000,
        workloads=deployments,
    )


def grid_cell(nodes: int, percent: int, events_per_s: int) -> Cell:
    """Return the cell of a size, a share of the pods that moves, and a churn."""
    name = f"{nodes} nodes, {percent} % moved, {events_per_s} events/s"
    moves = nodes * PODS_A_NODE * percent // 100
    # One node's free room and one pod's are not enough for a tenth of the pods.
    moves_each = 1 if percent <= FEW_PERCENT else 2
    cell = moving(Part.GRID, name, nodes, moves, moves_each)
    if not events_per_s:
        return cell
    return replace(cell, events_per_s=events_per_s, beside=True, window_s=20.0)


FEW_PERCENT = 5


CHURNS = (0, 10, 100)
PERCENTS = (1, 5, 10)
PROBE_PER_S = 4
"""So few that they cost nothing, and so many that the longest hold shows."""

SIZES = (100, 1000, FIVE_THOUSAND)


@dataclass(frozen=True, slots=True)
class LiveScope(Scope):
    """What a run of the benchmark covers."""

    cells: tuple[Cell, ...]


_NAMED = (
    case("500 nodes, 249 moves", 500, 50),
    replace(
        moving(Part.MOVES, "1000 nodes, 2000 moves, 400 workloads", 1000, 2000, 4),
        events_per_s=PROBE_PER_S,
    ),
    replace(
        moving(
            Part.PENDING, "5000 nodes, 500 pending, 500 moves", FIVE_THOUSAND, 500
        ),
        events_per_s=PROBE_PER_S,
    ),
    replace(
        moving(Part.RATE, "1000 nodes, bursts of 600", 1000, 300, 2),
        burst=600, rounds=5, beside=True,
    ),
    replace(
        moving(Part.CHURN, "5000 nodes, 100 events/s", FIVE_THOUSAND, 100),
        events_per_s=100, rounds=5, beside=True, window_s=60.0,
    ),
)  # fmt: skip

_DEFAULT_GRID = (
    *product((100,), PERCENTS, CHURNS),
    *((1000, 1, churn) for churn in CHURNS),
    (1000, 5, 10), (1000, 10, 0), (1000, 10, 100), (FIVE_THOUSAND, 5, 10),
)  # fmt: skip

SMOKE = LiveScope(
    ScopeName.SMOKE,
    (
        case("60 nodes, 30 moves", 60, 6),
        replace(
            moving(Part.RATE, "100 nodes, bursts of 150", 100, 40),
            burst=150, beside=True,
        ),
        grid_cell(100, 5, 10),
    ),
)  # fmt: skip
DEFAULT = LiveScope(
    ScopeName.DEFAULT, (*_NAMED, *(grid_cell(*one) for one in _DEFAULT_GRID))
)
FULL = LiveScope(
    ScopeName.FULL,
    (*_NAMED, *(grid_cell(*one) for one in product(SIZES, PERCENTS, CHURNS))),
)

SCOPES = (SMOKE, DEFAULT, FULL)
