"""What is measured: a cluster's size, what a plan has to move, and what goes on beside.

Every node has the same steady pods and some CPU left, but for the large pods that
arrive not enough: each of them needs ``moves_each`` steady pods to go elsewhere.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

from benchmarks.engine import Scope, ScopeName

PODS_A_NODE = 10
PODS_A_WORKLOAD = 25
LARGE_A_WORKLOAD = 5
CPU_MILLI = 1000
FREE_CPUS = 6
"""What a node has left beside its ten steady pods of one CPU."""

NODE_CPU_MILLI = (PODS_A_NODE + FREE_CPUS) * CPU_MILLI + 500
"""With something beside all of that, for the tiny pods that come and go."""


class Part(StrEnum):
    """What can be measured alone.

    ``MOVES``: 2,000 moves on 1,000 nodes. ``PENDING``: 500 pods that need 500 moves, on
    5,000 nodes. ``RATE``: bursts that no plan concerns, beside the profile ``default``.
    """

    MOVES = "moves-2000"
    PENDING = "pending-500"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cluster and what happens on it, beside the profile ``default`` if asked.

    With several rounds the nodes are as many equal pools, so that no round finds what the plan of another has left.
    ``large`` pods arrive each round, and for each of them ``moves_each`` steady ones must move. Of tiny pods, which no
    plan concerns, some come and go, and a ``burst`` comes while a plan is carried out.
    """

    part: Part
    name: str
    nodes: int
    large: int
    moves_each: int = 1
    events_per_s: int = 0
    burst: int = 0
    rounds: int = 1
    beside: bool = False
    timeout_s: float = 300.0

    @property
    def moves(self) -> int:
        """Return how many moves one round needs."""
        return self.large * self.moves_each

    @property
    def steady(self) -> int:
        """Return how many pods there are before the first round."""
        return self.nodes * PODS_A_NODE

    @property
    def large_cpu_milli(self) -> int:
        """Return what a large pod asks for."""
        return (FREE_CPUS + self.moves_each) * CPU_MILLI


def moving(part: Part, name: str, nodes: int, moves: int, moves_each: int = 1) -> Cell:
    """Return the cell of nodes with ten pods each in which so many pods must move."""
    # Four times what the chart's 40 evictions a second take, and a start.
    return Cell(part, name, nodes, ceil(moves / moves_each), moves_each, timeout_s=120.0 + moves / 10)


PROBE_PER_S = 4
"""So few that they cost nothing, and so many that the longest hold shows."""


@dataclass(frozen=True, slots=True)
class LiveScope(Scope):
    """What a run of the benchmark covers."""

    cells: tuple[Cell, ...]


_BURSTS = moving(Part.RATE, "1000 nodes, bursts of 600", 1000, 300, 2)
DEFAULT = LiveScope(
    ScopeName.DEFAULT,
    (
        replace(moving(Part.MOVES, "1000 nodes, 2000 moves, 400 workloads", 1000, 2000, 4), events_per_s=PROBE_PER_S),
        replace(moving(Part.PENDING, "5000 nodes, 500 pending, 500 moves", 5000, 500), events_per_s=PROBE_PER_S),
        replace(_BURSTS, burst=600, rounds=5, beside=True),
    ),
)
_SMALL = moving(Part.RATE, "100 nodes, bursts of 150", 100, 40)
SMOKE = LiveScope(ScopeName.SMOKE, (replace(_SMALL, burst=150, beside=True),))
SCOPES = (SMOKE, DEFAULT)
