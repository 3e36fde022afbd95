"""How much of what is free can still be used, by pods like those of the scenario.

*Stranded* is what lies idle because another resource of its node is used up (Verma et
al., "Large-scale cluster management at Google with Borg", EuroSys 2015; Li et al.,
"Pond", ASPLOS 2023, who measure it as a share of the whole capacity).

*Fragmented* is the share of what is free that the next pod, drawn from the scenario's
pods, cannot use because it does not fit where it lies (Weng et al., "Beware of
Fragmentation", USENIX ATC 2023, their measure F, with whole pods instead of GPUs).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.packing import pods_per_node, requested_per_node
from stowage_testbed.metrics.record import RunRecord, state_at_end
from stowage_testbed.metrics.state import RESOURCES, Resource, amount

_OTHER: Mapping[Resource, Resource] = {"cpu": "memory", "memory": "cpu"}
_UNITS: Mapping[Resource, str] = {"cpu": "milli", "memory": "bytes"}


def largest_fit(room: FreeRoom, of: Iterable[Shape]) -> Shape | None:
    """Return the largest shape that fits some node; ``None`` if none does.

    The larger of two shapes is the one with the larger dominant share of the capacity;
    equal ones are ordered by cpu, then memory.
    """

    def size(shape: Shape) -> tuple[Fraction, int, int]:
        shares = (
            Fraction(amount(resource, shape), max(room.capacity[resource], 1))
            for resource in RESOURCES
        )
        return max(shares), shape.cpu_milli, shape.memory_bytes

    return max((one for one in of if room.fits(one).any()), key=size, default=None)


def stranded(room: FreeRoom, of: Iterable[Shape], resource: Resource) -> int:
    """Return what is free on nodes that lack the other resource for every shape.

    A node that takes no more pods lacks everything.
    """
    other = _OTHER[resource]
    least = min((amount(other, shape) for shape in of), default=0)
    free = room.free[resource]
    return int(free[~room.has(other, least)].sum())


def fragmented(
    room: FreeRoom, of: Mapping[Shape, int], resource: Resource
) -> Fraction | None:
    """Return the expected share of the free amount that the next pod cannot use.

    ``of`` weighs each shape by its pods. ``None`` where nothing is free or no pod is
    known.
    """
    free = room.free[resource]
    total = int(free.sum()) * sum(of.values())
    if not total:
        return None
    lost = sum(int(free[~room.fits(shape)].sum()) * n for shape, n in of.items())
    return Fraction(lost, total)


def fragmentation_metrics(record: RunRecord) -> Iterator[Metric]:
    """Yield largest free room, largest pod that fits, stranded and fragmented share."""
    room, of = free_room(record), shapes(record)
    fit = largest_fit(room, of)
    n = len(record.nodes)
    for resource in RESOURCES:
        unit, free = _UNITS[resource], room.free[resource]
        yield _amount(f"largest_free_{resource}_{unit}", int(free.max(initial=0)), n)
        yield _amount(
            f"largest_fit_{resource}_{unit}",
            amount(resource, fit) if fit else 0,
            n,
            "" if fit else "no pod of the scenario fits any node",
        )
        capacity = room.capacity[resource]
        idle = stranded(room, of, resource) / capacity if capacity else None
        yield _share(f"stranded_{resource}", idle, n, "no nodes")
        lost = fragmented(room, of, resource)
        yield _share(
            f"fragmented_{resource}",
            None if lost is None else float(lost),
            n,
            "nothing is free, or no pod is known",
        )


def _amount(name: str, value: int, n: int, note: str = "") -> Metric:
    unit = name.rpartition("_")[2]
    return Metric(
        name, value if n else None, unit, "higher", n, 1.0, note if n else "no nodes"
    )


def _share(name: str, value: float | None, n: int, why_none: str) -> Metric:
    note = why_none if value is None else ""
    return Metric(name, value, "ratio", "lower", n, note=note)


Amounts = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a pod asks of a node; the replicas of a workload have one shape."""

    cpu_milli: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class FreeRoom:
    """Free amounts of every node, 0 where a node is overcommitted.

    Attributes
    ----------
    free
        Per resource, shape (nodes,).
    pods
        How many more pods each node takes, shape (nodes,).
    capacity
        Per resource, what all nodes have together, free or not.
    """

    free: Mapping[Resource, Amounts]
    pods: Amounts
    capacity: Mapping[Resource, int]

    def has(self, resource: Resource, request: int) -> Marks:
        """Return, for each node, whether it has a pod's slot and so much of a resource.

        A node that takes no more pods has nothing to give, whatever lies there.
        """
        return (self.pods >= 1) & (self.free[resource] >= request)

    def fits(self, shape: Shape) -> Marks:
        """Return, for each node, whether a pod of the shape fits there."""
        return self.has("cpu", shape.cpu_milli) & self.has("memory", shape.memory_bytes)


def free_room(record: RunRecord) -> FreeRoom:
    """Return what is free at the window's end."""
    state = state_at_end(record)
    held = pods_per_node(state)
    return FreeRoom(
        free={
            resource: _amounts(
                [amount(resource, node) - requested[node.name] for node in record.nodes]
            )
            for resource in RESOURCES
            for requested in [requested_per_node(state, resource)]
        },
        pods=_amounts([node.pods - held[node.name] for node in record.nodes]),
        capacity={
            resource: sum(amount(resource, node) for node in record.nodes)
            for resource in RESOURCES
        },
    )


def shapes(record: RunRecord) -> Counter[Shape]:
    """Return the shapes of the scenario's pods, and how many pods have each."""
    return Counter(Shape(pod.cpu_milli, pod.memory_bytes) for pod in record.pods)


def _amounts(values: list[int]) -> Amounts:
    return np.maximum(np.array(values, dtype=np.int64), 0)
