"""A cluster with gangs of which some run and some wait, as the optimiser and as the stock scheduler get it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.simulate.instance import Instance

Where = Mapping[str, str | None]
"""Node by pod; a pod without a node may be left out."""

NOWHERE = -1
NAMESPACE = "default"
PODS_A_NODE = 110
MIB = 1024**2
GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"


class Amounts(NamedTuple):
    """What a node has, or a pod asks for."""

    cpu_milli: int
    memory_mib: int
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """Equal pods.

    Parameters
    ----------
    homes
        By pod, the number of its node; `NOWHERE` while it waits.
    least
        How many pods of the gang must have a node if any has; 0 if the pods are no gang.
    leaves_whole
        Disruption mode ``all``.
    """

    name: str
    priority: int
    need: Amounts
    homes: tuple[int, ...]
    least: int = 0
    leaves_whole: bool = False

    @property
    def pods(self) -> list[str]:
        """The pods in the order of ``homes``, ``namespace/name``."""
        return [f"{NAMESPACE}/{self.name}-{number}" for number in range(len(self.homes))]

    @property
    def group(self) -> str:
        """The id of the gang; empty if the pods are none."""
        return f"{NAMESPACE}/{self.name}" if self.least else ""

    def pod_group(self) -> Manifest:
        """Return the gang's PodGroup."""
        spec = {
            "priority": self.priority,
            "schedulingPolicy": {"gang": {"minCount": self.least}},
            "disruptionMode": {"all" if self.leaves_whole else "single": {}},
        }
        return make_manifest("scheduling.k8s.io/v1beta1", "PodGroup", self.name, NAMESPACE, spec=spec)

    def manifests(self) -> Iterator[Manifest]:
        """Yield the pods, with their nodes if they have one."""
        requests = _quantities(self.need)
        for pod, home in zip(self.pods, self.homes, strict=True):
            spec: Manifest = {
                "priority": self.priority,
                "containers": [{"name": "c", "image": "pause", "resources": {"requests": requests}}],
            }
            if self.least:
                spec["schedulingGroup"] = {"podGroupName": self.name}
            if home != NOWHERE:
                spec["nodeName"] = node_name(home)
            name = pod.removeprefix(f"{NAMESPACE}/")
            yield {"metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": self.name}}, "spec": spec}


@dataclass(frozen=True, slots=True)
class GangInstance:
    """A cluster: the room of its nodes by number, and its workloads."""

    name: str
    nodes: tuple[Amounts, ...]
    workloads: tuple[Workload, ...]

    @property
    def priorities(self) -> list[int]:
        """The priorities, highest first."""
        return sorted({one.priority for one in self.workloads}, reverse=True)

    def snapshot(self) -> pb.Snapshot:
        """Return the cluster as the scheduler would send it to the optimiser; UIDs are ``namespace/name``."""
        snapshot = pb.Snapshot(id=self.name)
        for number, room in enumerate(self.nodes):
            name = node_name(number)
            allocatable = _resources(room)
            allocatable.pods = PODS_A_NODE
            snapshot.nodes.add(name=name, allocatable=allocatable, labels={HOST: name})
        for one in self.workloads:
            if one.group:
                snapshot.gangs.add(id=one.group, min_count=one.least, leaves_whole=one.leaves_whole)
            snapshot.pod_classes.add(
                id=one.name,
                namespace=NAMESPACE,
                owner=pb.Owner(kind="ReplicaSet", name=one.name, uid=one.name),
                priority=one.priority,
                requests=_resources(one.need),
                gang=one.group,
            )
            for pod, home in zip(one.pods, one.homes, strict=True):
                runs = home != NOWHERE
                snapshot.pods.add(
                    uid=pod,
                    namespace=NAMESPACE,
                    name=pod.removeprefix(f"{NAMESPACE}/"),
                    class_id=one.name,
                    node=node_name(home) if runs else "",
                    movable=runs,
                )
        return snapshot

    def simulated(self) -> Instance:
        """Return the cluster as the simulated scheduler gets it: it may try the waiting pods in any order."""
        capacity = [_quantities(room) | {"pods": str(PODS_A_NODE)} for room in self.nodes]
        return Instance(
            id=self.name,
            nodes=tuple(
                {
                    "metadata": {"name": node_name(number), "labels": {HOST: node_name(number)}},
                    "status": {"capacity": has, "allocatable": has},
                }
                for number, has in enumerate(capacity)
            ),
            pods=tuple(pod for one in self.workloads for pod in one.manifests()),
            objects=tuple(one.pod_group() for one in self.workloads if one.least),
            arrival="AtOnce",
            replace=True,
        )


def node_name(number: int) -> str:
    """Return the name of a node."""
    return f"node-{number:03d}"


def _quantities(amounts: Amounts) -> dict[str, str]:
    made = {"cpu": f"{amounts.cpu_milli}m", "memory": f"{amounts.memory_mib}Mi"}
    return made | {GPU: str(amounts.gpus)} if amounts.gpus else made


def _resources(amounts: Amounts) -> pb.Resources:
    return pb.Resources(
        cpu_milli=amounts.cpu_milli,
        memory_bytes=amounts.memory_mib * MIB,
        extended={GPU: amounts.gpus} if amounts.gpus else {},
    )
