"""Devices of nodes that pods share or that overlap, what pods ask of them, and who holds them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from stowage_optimizer.model.codec import REQUIRED, in_range

LARGEST_AMOUNT = 2**53
"""Of a capacity, a counter, and of what is taken of one."""

MOST_COUNT = 2**10
"""Devices of one request."""

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Device:
    """A device; see the contract.

    Parameters
    ----------
    kind
        Empty if no request takes it.
    counters
        What it consumes of the layout's counters while any pod holds it.
    shared
        Whether several pods may hold it.
    capacity
        By name; ``{"device": 1}`` if it is not shared.
    """

    name: Annotated[str, REQUIRED] = ""
    kind: str = ""
    counters: Amounts = field(default_factory=dict)
    shared: bool = False
    capacity: Amounts = field(default_factory=dict)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the amounts that are out of range."""
        yield from _out_of_range(".counters", self.counters)
        yield from _out_of_range(".capacity", self.capacity)


@dataclass(frozen=True, slots=True)
class DeviceLayout:
    """The devices of all nodes that are alike, in the order in which the scheduler tries them."""

    id: Annotated[str, REQUIRED] = ""
    devices: tuple[Device, ...] = ()
    counters: Amounts = field(default_factory=dict)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield counters that are out of range or that no set has."""
        yield from _out_of_range(".counters", self.counters)
        for index, device in enumerate(self.devices):
            for name in device.counters:
                if name not in self.counters:
                    yield f".devices[{index}].counters[{name}]", "is not one of the layout's counters"


@dataclass(frozen=True, slots=True)
class DeviceTake:
    """What a request takes of a device of one kind."""

    device_kind: Annotated[str, REQUIRED] = ""
    amounts: Amounts = field(default_factory=dict)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the amounts that are out of range."""
        yield from _out_of_range(".amounts", self.amounts)


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """``count`` distinct devices, each of a kind of ``takes``."""

    count: Annotated[int, in_range(1, MOST_COUNT)] = 0
    takes: tuple[DeviceTake, ...] = ()

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield kinds that are named twice."""
        kinds = [one.device_kind for one in self.takes]
        for index, kind in enumerate(kinds):
            if kind in kinds[:index]:
                yield f".takes[{index}].device_kind", f"{kind!r} is there before"


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """What a pod asks for: the first alternative that works."""

    id: Annotated[str, REQUIRED] = ""
    first_available: tuple[DeviceChoice, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceHolding:
    """A device that is allocated; ``pod_uid`` is empty if no pod of the snapshot holds it."""

    node: str = ""
    device: int = 0
    pod_uid: str = ""
    amounts: Amounts = field(default_factory=dict)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the amounts that are out of range."""
        yield from _out_of_range(".amounts", self.amounts)


def _out_of_range(where: str, amounts: Amounts) -> Iterator[tuple[str, str]]:
    for name, amount in amounts.items():
        if not 0 <= amount <= LARGEST_AMOUNT:
            yield f"{where}[{name}]", f"is {amount}, not in 0..{LARGEST_AMOUNT}"
