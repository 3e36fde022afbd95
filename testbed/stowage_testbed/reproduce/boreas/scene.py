"""One test: nodes, and the Deployments that are created on them all at once."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.cluster import NodePool
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.reproduce.boreas.published import Published
from stowage_testbed.scenario.model import Workload

NODE_CPU_MILLI = 900
NODE_MEMORY_BYTES = 3_972_000_000
"""What a node of the paper's cluster has left for pods, of one CPU and 4 GB; the
system's own pods take the rest (listing 1.1, and the authors' test files)."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One test.

    Attributes
    ----------
    name, about
        Its word, and what it is in a few.
    nodes
        How many there are, each as in the paper.
    zones
        That the nodes are in, dealt out in turn; none if empty.
    workload
        In the order in which its files are read.
    published
        The paper's own figures; ``None`` for a scene that it does not have.
    """

    name: str
    about: str
    nodes: int
    workload: tuple[Workload, ...]
    zones: tuple[str, ...] = ()
    published: Published | None = None

    @property
    def pods(self) -> int:
        """Return how many pods it has."""
        return sum(one.replicas for one in self.workload)

    @property
    def pool(self) -> NodePool:
        """Return its nodes."""
        return NodePool(
            self.name, self.nodes, NODE_CPU_MILLI, NODE_MEMORY_BYTES, zones=self.zones
        )

    @property
    def fewest_nodes(self) -> int:
        """Return how many nodes it takes at least, by CPU, which is what is scarce."""
        asked = sum(one.replicas * one.cpu_milli for one in self.workload)
        return -(-asked // NODE_CPU_MILLI)


def app_in(*names: str) -> dict[str, object]:
    """Return the requirement that a pod belongs to one of these workloads."""
    return {"key": WORKLOAD_LABEL, "operator": "In", "values": list(names)}
