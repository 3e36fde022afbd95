"""How much of what is free can still be used, by pods like those of the scenario.

*Stranded* is what lies idle because another resource of its node is used up (Verma et
al., "Large-scale cluster management at Google with Borg", EuroSys 2015; Li et al.,
"Pond", ASPLOS 2023, who measure it as a share of the whole capacity).

*Fragmented* is the share of what is free that the next pod, drawn from the scenario's
pods that ask for it, cannot use because it does not fit where it lies (Weng et al.,
"Beware of Fragmentation", USENIX ATC 2023, their measure F, with whole pods).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from stowage_testbed.amounts.resources import CPU, MEMORY, Resources, in_bytes
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord, find_state_at_end

_UNITS = {CPU: "milli", MEMORY: "bytes"}
"""Those in the names of metrics; what others are counted in their own names say."""


def find_largest_fit(room: FreeRoom, of: Iterable[Resources]) -> Resources | None:
    """Return the largest shape that fits some node; ``None`` if none does.

    The larger of two shapes is the one with the larger dominant share of the capacity;
    equal ones are ordered by cpu, then memory, then what else nodes have.
    """
    capacity = {name: max(int(room.size[name].sum()), 1) for name in room.names}

    def size(shape: Resources) -> tuple[Fraction, list[int]]:
        shares = (Fraction(shape[name], capacity[name]) for name in room.names)
        return max(shares), [shape[name] for name in room.names]

    return max((one for one in of if room.fits(one).any()), key=size, default=None)


def compute_fragmentation(room: FreeRoom, of: Mapping[Resources, int], resource: str) -> Fraction | None:
    """Return the expected share of the free amount that the next pod cannot use.

    ``of`` weighs each shape by its pods; those count that ask for the resource.
    ``None`` where nothing is free or no pod asks for it.
    """
    askers = {shape: n for shape, n in of.items() if resource in shape}
    free = room.free[resource]
    total = int(free.sum()) * sum(askers.values())
    if not total:
        return None
    lost = sum(int(free[~room.fits(shape)].sum()) * n for shape, n in askers.items())
    return Fraction(lost, total)


def measure_fragmentation(record: RunRecord) -> Iterator[Metric]:
    """Yield largest free room, largest pod that fits, stranded and fragmented share at the window's end."""
    bound = find_state_at_end(record).bound
    room = FreeRoom(
        {node.name: node.resources for node in record.nodes}, ((str(pod.node), pod.requests) for pod in bound)
    )
    of = Counter(pod.requests for pod in record.pods)
    fit = find_largest_fit(room, of)
    n = len(record.nodes)
    for resource in room.names:
        unit = _UNITS.get(resource, "bytes" if in_bytes(resource) else "units")
        named = f"{resource}_{unit}" if resource in _UNITS else resource
        fitting = "" if fit else "no pod of the scenario fits any node"
        for name, amount, note in (
            (f"largest_free_{named}", int(room.free[resource].max(initial=0)), ""),
            (f"largest_fit_{named}", fit[resource] if fit else 0, fitting),
        ):
            yield Metric(name, amount if n else None, unit, "higher", n, 1.0, note if n else "no nodes")
        capacity = int(room.size[resource].sum())
        idle = room.count_stranded(of, resource) / capacity if capacity else None
        lost = compute_fragmentation(room, of, resource)
        for name, share, why_none in (
            (f"stranded_{resource}", idle, "no nodes"),
            (f"fragmented_{resource}", None if lost is None else float(lost), "nothing is free, or no pod asks for it"),
        ):
            yield Metric(name, share, "ratio", "lower", n, note=why_none if share is None else "")
