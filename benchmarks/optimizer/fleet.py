"""A fleet as kinds of nodes and classes of pods, and who runs where.

Pods are two arrays, so that a fleet of 15,000 nodes is made in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stowage_optimizer.contract import optimizer_pb2 as pb

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
        for number, (one, home) in enumerate(
            zip(self.class_of.tolist(), self.home.tolist(), strict=True)
        ):
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
    return (
        (there.cpu_milli + GPU_CORES * there.extended.get(GPU, 0)) * CORE_MICROS // 1000
    )


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
            score += (free[node, dimension] - need[dimension]) / capacity[
                node, dimension
            ]
        if score > best_score + TIES:
            best, best_score = node, score
    return best
