"""Generated instances, seed for seed those of the paper's evaluation, and the grid of cells that they are of.

The paper ("Evaluation"): CPU and memory of each ReplicaSet are drawn from [100, 1000], its size from [1, 4], its
priority at random; all nodes are equal, and their capacity follows from the total demand and the target usage. What the
text leaves open (the random streams, rounding, units) follows the published data set, so that a seed gives the very
pods that were published for it.
"""

import hashlib
import random
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product

from stowage_testbed.amounts.resources import CPU, MEMORY, Resources
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool
from stowage_testbed.scenario.model import InstanceSpec, Scenario, Workload, imply_steps

SIZE_RANGE = (1, 4)  # Pods per ReplicaSet
CPU_MILLI_RANGE = (100, 1000)  # CPU request of one pod, in milli-CPU
MEMORY_BYTES_RANGE = (100 * 10**6, 1000 * 10**6)
"""Memory request of one pod, in bytes: the data set's MB are 10^6 bytes."""

_SEED_BYTES = 16
_LEAST_POD_CAP = 512


def generate(spec: InstanceSpec) -> tuple[NodePool, tuple[Workload, ...]]:
    """Return equal nodes, whose pod limit never binds, and ReplicaSets in the order of arrival."""
    pods = spec.nodes * spec.pods_per_node
    draw_size, left, sizes = _make_stream(spec.seed, "rs-sizes"), pods, list[int]()
    while left:
        sizes.append(draw_size.randint(*(min(end, left) for end in SIZE_RANGE)))
        left -= sizes[-1]
    draw_cpu, draw_memory = _make_stream(spec.seed, "rs-cpu"), _make_stream(spec.seed, "rs-mem")
    draw_priority = _make_stream(spec.seed, "base")
    sets = []
    for number, size in enumerate(sizes, start=1):
        priority = draw_priority.randint(1, spec.priorities)
        requests = Resources(cpu=draw_cpu.randint(*CPU_MILLI_RANGE), memory=draw_memory.randint(*MEMORY_BYTES_RANGE))
        sets.append(Workload(f"rs-{number:02d}-p{priority}", size, requests=requests, priority=priority))
    room = {name: _compute_capacity([(s.replicas, s.requests[name]) for s in sets], spec) for name in (CPU, MEMORY)}
    resources = Resources(room, pods=max(_LEAST_POD_CAP, 3 * pods))
    return NodePool("node", spec.nodes, resources), tuple(sets)


def _make_stream(seed: int, label: str) -> random.Random:
    """Return the random stream of a label: streams of one seed are independent."""
    digest = hashlib.blake2b(seed.to_bytes(_SEED_BYTES, "big") + b"\0" + label.encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))  # noqa: S311 - not a secret


def _compute_capacity(demands: list[tuple[int, int]], spec: InstanceSpec) -> int:
    """Return one node's capacity, rounded up twice: the total, then each part; never less than the largest pod."""
    total = sum(pods * request for pods, request in demands)
    wanted = -(-total // Fraction(str(spec.usage)))
    largest = max(request for _, request in demands)
    return max(largest, -(-wanted // spec.nodes))


NODES = (4, 8, 16, 32)
PODS_PER_NODE = (4, 8)
PRIORITIES = (1, 2, 4)
USAGES_PERCENT = (90, 95, 100, 105)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of parameters; ``usage_percent`` is demand over capacity."""

    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int

    @property
    def name(self) -> str:
        """Return the cell as text, as in ``n32-p8-k4-u105``."""
        return f"n{self.nodes}-p{self.pods_per_node}-k{self.priorities}-u{self.usage_percent}"


def grid() -> tuple[Cell, ...]:
    """Return the paper's 96 cells."""
    return tuple(Cell(*values) for values in product(NODES, PODS_PER_NODE, PRIORITIES, USAGES_PERCENT))


class Family(StrEnum):
    """The paper's instances, the thesis's, and these with affinity to labels of nodes."""

    PAPER = "paper"
    THESIS = "thesis"
    LABELS = "labels"


@dataclass(frozen=True, slots=True)
class Case:
    """The ``number``-th instance of a cell."""

    family: Family
    cell: Cell
    number: int

    @property
    def id(self) -> str:
        """Return a name that is also a file name, as in ``paper-n4-p4-k1-u95-0``."""
        return f"{self.family}-{self.cell.name}-{self.number}"

    def seed(self, attempt: int) -> int:
        """Return the seed of the ``attempt``-th try to find an instance: 63 bits."""
        label = f"{self.cell.name}/{self.number}/{attempt}".encode()
        return int.from_bytes(hashlib.blake2b(label, digest_size=8).digest(), "big") >> 1

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        cell, seed = self.cell, self.seed(attempt)
        spec = InstanceSpec(seed, cell.nodes, cell.pods_per_node, cell.priorities, cell.usage_percent / 100)
        pool, workload = generate(spec)
        if self.family is Family.LABELS:
            draw = random.Random(seed)  # noqa: S311 - not a secret
            workload = tuple(_add_affinity(one, draw.random()) for one in workload)
            pool = replace(pool, zones=ZONES)
        return Scenario(self.id, f"Seed {seed}.", (pool,), workload, instance=spec, steps=imply_steps(workload))


ZONES = ("a", "b")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

NEAR_SHARE, OFF_SHARE = 0.2, 0.2
"""Of the thesis's ReplicaSets: with affinity to the first zone, and with anti-affinity to it."""


def _add_affinity(workload: Workload, chosen: float) -> Workload:
    if chosen >= NEAR_SHARE + OFF_SHARE:
        return workload
    demand = {"key": ZONE_LABEL, "operator": "In" if chosen < NEAR_SHARE else "NotIn", "values": [ZONES[0]]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [demand]}]}
    return replace(workload, pod={"affinity": {"nodeAffinity": {REQUIRED: terms}}})
