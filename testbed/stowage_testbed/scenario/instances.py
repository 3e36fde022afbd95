"""Generated instances, seed for seed those of the paper's evaluation.

The paper ("Evaluation"): CPU and memory of each ReplicaSet are drawn from [100, 1000], its size from [1, 4], its
priority at random; all nodes are equal, and their capacity follows from the total demand and the target usage. What the
text leaves open (the random streams, rounding, units) follows the published data set, so that a seed gives the very
pods that were published for it.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from fractions import Fraction

from stowage_testbed.amounts.resources import CPU, MEMORY, Resources
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.model import InstanceSpec, Workload

SIZE_RANGE = (1, 4)  # Pods per ReplicaSet
CPU_MILLI_RANGE = (100, 1000)  # CPU request of one pod, in milli-CPU
MEMORY_BYTES_RANGE = (100 * 10**6, 1000 * 10**6)
"""Memory request of one pod, in bytes: the data set's MB are 10^6 bytes."""

_SEED_BYTES = 16
_LEAST_POD_CAP = 512


@dataclass(frozen=True, slots=True)
class Instance:
    """A generated instance: equal nodes, and ReplicaSets in the order of arrival."""

    spec: InstanceSpec
    node: Resources
    workload: tuple[Workload, ...]

    def node_pool(self) -> NodePool:
        """Return the nodes; their pod limit never binds."""
        pods = self.spec.nodes * self.spec.pods_per_node
        return NodePool(
            name_prefix="node",
            count=self.spec.nodes,
            resources=self.node + Resources(pods=max(_LEAST_POD_CAP, 3 * pods)),
        )


def generate(seed: int, nodes: int, pods_per_node: int, priorities: int, usage: float) -> Instance:
    """Generate an instance.

    ``usage`` is demand over capacity, as in 0.95. Raises a ValueError for a parameter that is not positive, or a seed
    beyond 128 bits.
    """
    spec = InstanceSpec(seed, nodes, pods_per_node, priorities, usage)
    for name in ("nodes", "pods_per_node", "priorities", "usage"):
        if getattr(spec, name) <= 0:
            raise ValueError(f"{name} must be more than 0, not {getattr(spec, name)}")
    if not 0 <= seed < 2 ** (8 * _SEED_BYTES):
        raise ValueError(f"seed must lie from 0 to 2^128 - 1, not {seed}")
    draw_size, left, sizes = _make_stream(seed, "rs-sizes"), nodes * pods_per_node, list[int]()
    while left:
        sizes.append(draw_size.randint(*(min(end, left) for end in SIZE_RANGE)))
        left -= sizes[-1]
    draw_cpu, draw_memory = _make_stream(seed, "rs-cpu"), _make_stream(seed, "rs-mem")
    draw_priority = _make_stream(seed, "base")
    sets = []
    for number, size in enumerate(sizes, start=1):
        priority = draw_priority.randint(1, priorities)
        sets.append(
            Workload(
                name=f"rs-{number:02d}-p{priority}",
                replicas=size,
                requests=Resources(
                    cpu=draw_cpu.randint(*CPU_MILLI_RANGE), memory=draw_memory.randint(*MEMORY_BYTES_RANGE)
                ),
                priority=priority,
            )
        )
    return Instance(
        spec=spec,
        node=Resources(
            {name: _compute_capacity([(s.replicas, s.requests[name]) for s in sets], spec) for name in (CPU, MEMORY)}
        ),
        workload=tuple(sets),
    )


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
