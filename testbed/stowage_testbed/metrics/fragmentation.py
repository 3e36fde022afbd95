"""How much of what is free can still be used, by pods like those of the scenario.

*Stranded* is what lies idle because another resource of its node is used up (Verma et
al., "Large-scale cluster management at Google with Borg", EuroSys 2015; Li et al.,
"Pond", ASPLOS 2023, who measure it as a share of the whole capacity).

*Fragmented* is the share of what is free that the next pod, drawn from the scenario's
pods, cannot use because it does not fit where it lies (Weng et al., "Beware of
Fragmentation", USENIX ATC 2023, their measure F, with whole pods instead of GPUs).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from stowage_testbed.metrics.free_room import FreeRoom, Shape, free_room, shapes
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.resource import RESOURCES, Resource, amount

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
