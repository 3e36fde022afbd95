"""What arrives: pods that are all alike, of some kinds in turn, or each of its own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stowage_testbed.simulate import Instance

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
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                ZONE_KEY: f"zone-{number % ZONES}",
            },
        },
        "status": {
            "capacity": {
                "cpu": f"{NODE_CPU_MILLI}m",
                "memory": f"{NODE_MEMORY_MIB}Mi",
                "pods": str(NODE_PODS),
            }
        },
    }


def _pod(number: int, workload: Workload) -> Manifest:
    cpu_milli, memory_mib = _size(number, workload)
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    spec: Manifest = {
        "containers": [
            {"name": "c", "image": "pause", "resources": {"requests": requests}}
        ]
    }
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
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "burst"},
        "spec": {"selector": APP},
    }
