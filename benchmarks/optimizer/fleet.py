"""A fleet as kinds of nodes and classes of pods, and who runs where.

Pods are two arrays, so that a fleet of 15,000 nodes is made in seconds.
"""

import random
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.reproduce.fgd.trace import ALL_NODES, TraceNode, TracePod, read_nodes, read_pods

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MIB = 1024**2
GPU = "nvidia.com/gpu-milli"
"""Thousandths of GPUs, pooled by node: any that are free will do."""

MODEL = "stowage.dev/model"
NOWHERE = -1
TIES = 1e-12
"""Scores nearer than that are equal: the first node gets the pod."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Nodes and pods.

    Parameters
    ----------
    room
        By kind of node, shape ``(kinds, 4)``: CPU in thousandths, memory in MiB, GPUs
        in thousandths, pods.
    kind
        By node, shape ``(nodes,)``.
    need
        By class of pod, shape ``(classes, 4)``.
    priority
        By class, shape ``(classes,)``.
    suits
        Which class may be on which kind, shape ``(classes, kinds)``.
    class_of, home
        By pod, shape ``(pods,)``; ``home`` is negative while the pod waits.
    """

    name: str
    room: Ints
    kind: Ints
    need: Ints
    priority: Ints
    suits: Flags
    class_of: Ints
    home: Ints

    def snapshot(self) -> pb.Snapshot:
        """Return the fleet as the optimiser is given it."""
        snapshot = pb.Snapshot(id=self.name)
        for number, kind in enumerate(self.kind.tolist()):
            name = f"node-{number}"
            snapshot.nodes.add(
                name=name,
                allocatable=_resources(self.room[kind], pods=True),
                labels={"kubernetes.io/hostname": name, MODEL: f"kind-{kind}"},
            )
        for number in range(len(self.need)):
            self._add_class(snapshot, number)
        for number, (one, home) in enumerate(zip(self.class_of.tolist(), self.home.tolist(), strict=True)):
            snapshot.pods.add(
                uid=f"uid-{number}",
                namespace="fleet",
                name=f"pod-{number}",
                class_id=f"class-{one}",
                node=f"node-{home}" if home >= 0 else "",
                movable=home >= 0,
            )
        return snapshot

    def _add_class(self, snapshot: pb.Snapshot, number: int) -> None:
        name = f"class-{number}"
        added = snapshot.pod_classes.add(
            id=name,
            namespace="fleet",
            labels={"app": name},
            owner=pb.Owner(kind="ReplicaSet", name=name, uid=f"owner-{number}"),
            priority=int(self.priority[number]),
            requests=_resources(self.need[number], pods=False),
        )
        suits = self.suits[number]
        if not suits.all():
            kinds = [f"kind-{kind}" for kind in np.flatnonzero(suits).tolist()]
            term = added.required_node_affinity.add()
            term.match_expressions.add(key=MODEL, operator="In", values=kinds)


CORE_MICROS, GPU_CORES = 23_700, 30
"""What an hour of a core costs, and how many cores cost as much as a GPU."""


def price_micros(node: pb.Node) -> int:
    """Return what an hour of ``node`` might cost; no real price list."""
    there = node.allocatable
    return (there.cpu_milli + GPU_CORES * there.extended.get(GPU, 0)) * CORE_MICROS // 1000


def _resources(amounts: Ints, *, pods: bool) -> pb.Resources:
    cpu_milli, memory_mib, gpu_milli, most_pods = amounts.tolist()
    return pb.Resources(
        cpu_milli=cpu_milli,
        memory_bytes=memory_mib * MIB,
        pods=most_pods if pods else 0,
        extended={GPU: gpu_milli} if gpu_milli else {},
    )


class Start(StrEnum):
    """How the running pods came to their nodes."""

    LEAST_ALLOCATED = "least-allocated"
    """One after the other, as kube-scheduler's default scores them."""
    A_DAY = "a-day"
    """The same, and then half of them ended and others came in their place."""


ENDED_SHARE, HOURS = 0.5, 24
"""Of all pods, in a day of arrivals and departures, hour by hour."""


def placed(fleet: Fleet, start: Start, seed: int) -> Fleet:
    """Return ``fleet`` with each pod that fits where the stock scheduler puts it."""
    number = len(fleet.class_of)
    free, home = fleet.room[fleet.kind], np.full(number, NOWHERE)
    _place(fleet, np.arange(number), free, home)
    if start is Start.A_DAY:
        draw = np.random.default_rng(seed)
        ended = draw.permutation(number)[: int(ENDED_SHARE * number)]
        for batch in np.array_split(ended, HOURS):
            # Each is replaced by one of its class; who has waited longest comes first.
            leaving = batch[home[batch] >= 0]
            np.add.at(free, home[leaving], fleet.need[fleet.class_of[leaving]])
            home[leaving] = NOWHERE
            waiting = np.setdiff1d(np.flatnonzero(home < 0), leaving)
            order = np.concatenate([waiting, draw.permutation(leaving)])
            _place(fleet, order, free, home)
    return replace(fleet, home=home)


def _place(fleet: Fleet, order: Ints, free: Ints, home: Ints) -> None:
    """Place pods in ``order`` where most of CPU and memory stays free."""
    capacity, suits = fleet.room[fleet.kind], fleet.suits[:, fleet.kind]
    for pod in order.tolist():
        one = fleet.class_of[pod]
        node = _least_allocated(free, capacity, fleet.need[one], suits[one])
        home[pod] = node
        if node >= 0:
            free[node] -= fleet.need[one]


@njit(cache=True)
def _least_allocated(free: Ints, capacity: Ints, need: Ints, suits: Flags) -> int:
    """Return the node with the largest free share afterwards; negative for none."""
    best, best_score = -1, -1.0
    for node in range(len(free)):
        if not suits[node] or (free[node] < need).any():
            continue
        score = 0.0
        for dimension in range(2):
            score += (free[node, dimension] - need[dimension]) / capacity[node, dimension]
        if score > best_score + TIES:
            best, best_score = node, score
    return best


PODS_A_NODE = 110
PRIORITY = {"LS": 3, "Guaranteed": 2, "Burstable": 1, "BE": 0}
"""By class of service in the trace; pods of lists that name none are all of one."""

Amounts = tuple[int, int, int]
"""CPU in thousandths, memory in MiB, and GPUs in thousandths."""


class _NodeKind(NamedTuple):
    room: Amounts
    model: str


class _PodClass(NamedTuple):
    need: Amounts
    models: tuple[str, ...]
    priority: int

    def suits(self, kind: _NodeKind) -> bool:
        return not self.models or kind.model in self.models


def read_fleet(folder: Path, pods: str, nodes: int, fill: float, seed: int) -> Fleet:
    """Return a fleet of the trace whose pods all wait."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    every = [_node_kind(one) for one in read_nodes(folder, ALL_NODES)]
    chosen = draw.sample(every, nodes) if nodes < len(every) else every
    listed = [_pod_class(one) for one in read_pods(folder, pods)]
    draw.shuffle(listed)
    members = _drawn(listed, chosen, fill)
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(chosen))}
    classes = {one: number for number, one in enumerate(dict.fromkeys(members))}
    return Fleet(
        name=f"openb-{pods}-{nodes}-{fill:.2f}-{seed}",
        room=np.array([[*kind.room, PODS_A_NODE] for kind in kinds]),
        kind=np.array([kinds[kind] for kind in chosen]),
        need=np.array([[*one.need, 1] for one in classes]),
        priority=np.array([one.priority for one in classes]),
        suits=np.array([[one.suits(kind) for kind in kinds] for one in classes]),
        class_of=np.array([classes[one] for one in members]),
        home=np.full(len(members), NOWHERE),
    )


def _drawn(listed: list[_PodClass], nodes: list[_NodeKind], fill: float) -> list[_PodClass]:
    """Return pods until they ask for ``fill``; a short list begins again."""
    most_cpu, _, most_gpu = fill * np.sum([node.room for node in nodes], axis=0)
    members: list[_PodClass] = []
    asked = np.zeros(3)
    while asked[0] < most_cpu and (not most_gpu or asked[2] < most_gpu):
        members.append(listed[len(members) % len(listed)])
        asked += members[-1].need
    return members


def _node_kind(node: TraceNode) -> _NodeKind:
    return _NodeKind((node.cpu_milli, node.memory_mib, 1000 * node.gpus), node.model)


def _pod_class(pod: TracePod) -> _PodClass:
    need = pod.cpu_milli, pod.memory_mib, pod.gpus * pod.gpu_milli
    return _PodClass(need, pod.models, PRIORITY.get(pod.qos, 0))


KINDS, CLASSES, PRIORITIES = 20, 2000, 4
PRIORITY_SHARES = (0.25, 0.35, 0.25, 0.15)
"""From the lowest priority on."""

NODE_CPU_MILLI = (8_000, 16_000, 32_000, 48_000, 64_000, 96_000, 128_000)
GIB_A_CORE = (2, 4, 8)
SYSTEM_CPU_MILLI, SYSTEM_MEMORY_MIB = 400, 600
NODE_GPUS, GPU_SHARE = (1, 2, 4, 8), 0.3

CPU_MILLI = (250, 500, 1000, 2000, 4000, 6000, 8000, 12_000, 16_000)
CPU_SHARES = (0.12, 0.2, 0.2, 0.18, 0.12, 0.06, 0.06, 0.04, 0.02)
POD_GIB_A_CORE, POD_GIB_SHARES = (1, 2, 4, 8), (0.2, 0.35, 0.3, 0.15)
POD_GPU_MILLI, POD_GPU_SHARE = (250, 500, 1000, 2000), 0.06
SCALE = 1.55
"""How much larger pods are than these: some ten fill a node."""

ZONES, ZONE_SHARE = 3, 0.15
"""So many of the classes are bound to one zone."""

ZIPF = 0.9
"""How unlike workloads are in size."""


def make_fleet(nodes: int, fill: float, seed: int) -> Fleet:
    """Return a made fleet whose pods all wait; they ask for ``fill`` of the room."""
    draw = np.random.default_rng(seed)
    cpu_milli = draw.choice(NODE_CPU_MILLI, KINDS)
    memory_mib = cpu_milli * draw.choice(GIB_A_CORE, KINDS) * 1024 // 1000
    gpus = draw.choice(NODE_GPUS, KINDS) * (draw.random(KINDS) < GPU_SHARE)
    room = np.stack(
        [cpu_milli - SYSTEM_CPU_MILLI, memory_mib - SYSTEM_MEMORY_MIB, 1000 * gpus, np.full(KINDS, PODS_A_NODE)], axis=1
    )
    shares = draw.dirichlet(np.full(KINDS, 1.5))
    kind = np.sort(draw.choice(KINDS, nodes, p=shares))
    asked_milli = (SCALE * draw.choice(CPU_MILLI, CLASSES, p=CPU_SHARES)).astype(int)
    ratio = draw.choice(POD_GIB_A_CORE, CLASSES, p=POD_GIB_SHARES)
    asked_mib = (asked_milli * ratio * draw.choice([0.75, 1, 1.25], CLASSES)).astype(int)
    asked_gpu = draw.choice(POD_GPU_MILLI, CLASSES)
    asked_gpu *= draw.random(CLASSES) < POD_GPU_SHARE
    need = np.stack([asked_milli, asked_mib, asked_gpu, np.ones(CLASSES, int)], axis=1)
    zone = draw.integers(0, ZONES, KINDS)
    own = np.where(draw.random(CLASSES) < ZONE_SHARE, draw.integers(0, ZONES, CLASSES), -1)
    class_of = _waiting(draw, nodes, need, fill * room[kind].sum(axis=0))
    return Fleet(
        name=f"made-{nodes}-{fill:.2f}-{seed}",
        room=room,
        kind=kind,
        need=need,
        priority=draw.choice(PRIORITIES, CLASSES, p=PRIORITY_SHARES),
        suits=(own[:, None] < 0) | (own[:, None] == zone[None, :]),
        class_of=class_of,
        home=np.full(len(class_of), NOWHERE),
    )


def _waiting(draw: np.random.Generator, at_once: int, need: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return classes of pods until CPU or memory is asked for as much as ``most``."""
    weight = 1 / np.arange(1, CLASSES + 1) ** ZIPF
    weight = draw.permutation(weight) / weight.sum()
    drawn: list[np.ndarray] = []
    asked = np.zeros(need.shape[1])
    while (asked[:2] < most[:2]).all():
        drawn.append(draw.choice(CLASSES, at_once, p=weight))
        asked += need[drawn[-1]].sum(axis=0)
    return np.concatenate(drawn)
