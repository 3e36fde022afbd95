"""A case: one instance of the benchmark, and the policy that it is solved under.

The family ``MIX`` adds to the paper's instances what real clusters have. Of the ReplicaSets 20 % want labelled nodes,
10 % keep their pods on different nodes, 10 % spread them over zones. Nodes come in two sizes with the same total, every
fourth carries a taint, which half of the ReplicaSets tolerate.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from enum import StrEnum

from stowage_testbed.amounts.resources import CPU, MEMORY, PODS, Resources
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.instances.cell import Cell
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import Scenario, Workload, imply_steps

_SEED_BYTES = 8
_SEED_BITS = 63


class Family(StrEnum):
    """``PAPER``: the paper's generator. ``MIX``: the same with constraints."""

    PAPER = "paper"
    MIX = "mix"


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

    @property
    def policy(self) -> str:
        """Return the policy's name: paper instances are solved as the paper does, others as users would."""
        return "strict" if self.family is Family.MIX else "paper"

    def seed(self, attempt: int) -> int:
        """Return the seed of the ``attempt``-th try to find an instance: 63 bits."""
        label = f"{self.cell.name}/{self.number}/{attempt}".encode()
        digest = hashlib.blake2b(label, digest_size=_SEED_BYTES).digest()
        return int.from_bytes(digest, "big") >> (8 * _SEED_BYTES - _SEED_BITS)

    def scenario(self, attempt: int) -> Scenario:
        """Return nodes and workload of the ``attempt``-th try."""
        cell, seed = self.cell, self.seed(attempt)
        drawn = generate(seed, cell.nodes, cell.pods_per_node, cell.priorities, cell.usage)
        scenario = Scenario(
            name=self.id,
            description=f"Seed {seed}.",
            nodes=(drawn.node_pool(),),
            workload=drawn.workload,
            instance=drawn.spec,
        )
        if self.family is Family.MIX:
            scenario = with_constraints(scenario)
        return replace(scenario, steps=imply_steps(scenario.workload))


DISK = "stowage.dev/disk"
DEDICATED = "stowage.dev/dedicated"
ZONES = ("a", "b")
HOSTNAME = "kubernetes.io/hostname"

SELECTOR_SHARE, APART_SHARE, SPREAD_SHARE = 0.2, 0.1, 0.1
TOLERATING_SHARE = 0.5
LARGE_PARTS, SMALL_PARTS, PARTS = 4, 2, 3
"""A large node has 4/3 of the equal nodes' size, a small one 2/3."""


def with_constraints(scenario: Scenario) -> Scenario:
    """Return ``scenario`` with the mix, drawn from its own seed."""
    assert scenario.instance is not None  # noqa: S101 - generated instances have one
    draw = random.Random(scenario.instance.seed)  # noqa: S311 - not a secret
    (pool,) = scenario.nodes
    largest = Resources({name: max(one.requests[name] for one in scenario.workload) for name in (CPU, MEMORY)})
    return replace(
        scenario, nodes=_pools(pool, largest), workload=tuple(_constrained(one, draw) for one in scenario.workload)
    )


def _pools(pool: NodePool, largest: Resources) -> tuple[NodePool, ...]:
    half, tainted = pool.count // 2, max(1, pool.count // 4)

    def part(name: str, count: int, parts: int) -> NodePool:
        return NodePool(
            name_prefix=name,
            count=count,
            resources=Resources(
                {name: max(largest[name], pool.resources[name] * parts // PARTS) for name in (CPU, MEMORY)},
                pods=pool.resources[PODS],
            ),
            zones=ZONES,
        )

    ssd = part("large-ssd", half, LARGE_PARTS)
    dedicated = part("small-dedicated", tainted, SMALL_PARTS)
    taint = Taint(DEDICATED, "NoSchedule", "batch")
    return (
        replace(ssd, labels={DISK: "ssd"}),
        replace(dedicated, taints=(taint,)),
        part("small", pool.count - half - tainted, SMALL_PARTS),
    )


def _constrained(workload: Workload, draw: random.Random) -> Workload:
    pod: dict[str, object] = {}
    chosen = draw.random()
    if draw.random() < TOLERATING_SHARE:
        pod["tolerations"] = [{"key": DEDICATED, "operator": "Exists", "effect": "NoSchedule"}]
    own = {"matchLabels": {WORKLOAD_LABEL: workload.name}}
    if chosen < SELECTOR_SHARE:
        pod["nodeSelector"] = {DISK: "ssd"}
    elif chosen < SELECTOR_SHARE + APART_SHARE:
        term = {"labelSelector": own, "topologyKey": HOSTNAME}
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif chosen < SELECTOR_SHARE + APART_SHARE + SPREAD_SHARE:
        pod["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
        ]
    return replace(workload, pod=pod)
