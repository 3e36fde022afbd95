"""What is left of a node's devices, and which of them the scheduler allocates to a pod next.

Kubernetes tries devices in one order and takes the first solution: request by request, in each the first alternative,
in each the first devices; what leads nowhere is undone.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from stowage_optimizer.contract import optimizer_pb2 as pb

MOST_STEPS = 100_000
"""Devices that are tried for one pod before the search counts as too hard."""

MOST_DEVICES = 256
"""Devices that one pod asks for at most; each is a call deep."""

Amounts = Mapping[str, int]

Taken = tuple[int, Amounts]
"""A device by its index, and what is taken of it."""


class Unfit(StrEnum):
    """Why there are no devices for a pod."""

    NONE_LEFT = "no devices are left for it"
    TOO_HARD = "too hard to say which devices it gets"


class Layout:
    """A layout's message, read once.

    Attributes
    ----------
    devices
        Its devices, in the order in which they are tried.
    rivals
        By device, the counters that must suffice for it to be taken: all those of the pools whose counters it consumes.
    """

    def __init__(self, message: pb.DeviceLayout) -> None:
        self.id = message.id
        self.devices = list(message.devices)
        self.kinds = [one.kind for one in self.devices]
        self.shared = [one.shared for one in self.devices]
        self.capacity: list[Amounts] = [dict(one.capacity) for one in self.devices]
        self.consumes: list[Amounts] = [dict(one.counters) for one in self.devices]
        self.counters: Amounts = dict(message.counters)
        pools = [{_pool(name) for name in one} for one in self.consumes]
        self.rivals = [[name for name in self.counters if _pool(name) in own] for own in pools]

    def has(self, device: int, amounts: Amounts) -> bool:
        """Return whether a device has so much when nobody holds it."""
        capacity = self.capacity[device]
        return all(amount <= capacity.get(name, -1) for name, amount in amounts.items())

    def name(self, device: int) -> str:
        """Return the name of a device by its index, whatever that is."""
        return self.devices[device].name if 0 <= device < len(self.devices) else f"device {device}"


def _pool(counter: str) -> str:
    return counter.partition("/")[0]


class Request:
    """A request's message, read once: its alternatives, each with a count and what is taken by kind of device."""

    def __init__(self, message: pb.DeviceRequest) -> None:
        self.id = message.id
        self.choices = [
            (choice.count, {take.device_kind: dict(take.amounts) for take in choice.takes if take.device_kind})
            for choice in message.first_available
        ]
        self._options: dict[str, list[Sequence[Taken]]] = {}

    def options(self, layout: Layout) -> list[Sequence[Taken]]:
        """Return the devices of the layout that serve each alternative: nobody takes more than a device has."""
        if layout.id not in self._options:
            self._options[layout.id] = [
                [
                    (at, takes[kind])
                    for at, kind in enumerate(layout.kinds)
                    if kind in takes and layout.has(at, takes[kind])
                ]
                for _, takes in self.choices
            ]
        return self._options[layout.id]


class Holding(NamedTuple):
    """Who holds how much of which device; nobody of the snapshot is ""."""

    device: int
    pod_uid: str
    amounts: Amounts


class Devices:
    """The devices of a snapshot, what its classes ask of them, and who holds them.

    Attributes
    ----------
    layout_of
        The layout of each node that has one.
    requests, requests_of
        The requests by id, and those of each class that has any, in order.
    holdings
        By node.
    """

    def __init__(self, snapshot: pb.Snapshot) -> None:
        layouts = {one.id: Layout(one) for one in snapshot.device_layouts}
        self.requests = {one.id: Request(one) for one in snapshot.device_requests}
        self.layout_of = {
            one.name: layouts[one.device_layout] for one in snapshot.nodes if one.device_layout in layouts
        }
        self.requests_of = {
            one.id: [self.requests[name] for name in one.device_requests if name in self.requests]
            for one in snapshot.pod_classes
            if one.device_requests
        }
        self.holdings: defaultdict[str, list[Holding]] = defaultdict(list)
        for one in snapshot.device_holdings:
            self.holdings[one.node].append(Holding(one.device, one.pod_uid, dict(one.amounts)))


@dataclass(slots=True)
class DeviceRoom:
    """What is held of the devices of one node.

    Parameters
    ----------
    layout
        Of the node.
    used
        Amounts by device.
    holders
        Holdings by device: the first one of a device consumes its counters.
    consumed
        Counters.
    """

    layout: Layout
    used: list[Counter[str]] = field(init=False)
    holders: list[int] = field(init=False)
    consumed: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        self.used = [Counter() for _ in self.layout.devices]
        self.holders = [0] * len(self.used)
        self.consumed = Counter()

    def hold(self, device: int, amounts: Amounts) -> None:
        """Take so much of a device, whether there is room or not."""
        self.used[device].update(amounts)
        if not self.holders[device]:
            self.consumed.update(self.layout.consumes[device])
        self.holders[device] += 1

    def release(self, device: int, amounts: Amounts) -> None:
        """Undo `hold`."""
        self.used[device].subtract(amounts)
        self.holders[device] -= 1
        if not self.holders[device]:
            self.consumed.subtract(self.layout.consumes[device])

    def has_room(self, device: int, amounts: Amounts) -> bool:
        """Return whether so much of a device may be taken.

        No capacity may be exceeded, and no counter of the pool, whether anything is taken of it or not.
        """
        layout, held = self.layout, self.holders[device]
        if held and not layout.shared[device]:
            return False
        capacity, used = layout.capacity[device], self.used[device]
        if not amounts.keys() <= capacity.keys():
            return False
        if any(used[name] + amounts.get(name, 0) > most for name, most in capacity.items()):
            return False
        if held:
            return True
        wanted = layout.consumes[device]
        return all(self.consumed[name] + wanted.get(name, 0) <= layout.counters[name] for name in layout.rivals[device])


def first_fit(room: DeviceRoom, requests: Sequence[Request]) -> list[Taken] | Unfit:
    """Return the devices that the scheduler allocates, in the order of ``requests``.

    They are held in ``room`` then.
    """
    search = _Search(room, requests)
    if sum(max((count for count, _ in one.choices), default=0) for one in requests) > MOST_DEVICES:
        return Unfit.TOO_HARD
    if search.serve(0):
        return search.taken
    return Unfit.TOO_HARD if search.steps > MOST_STEPS else Unfit.NONE_LEFT


@dataclass(slots=True)
class _Search:
    room: DeviceRoom
    requests: Sequence[Request]
    steps: int = 0
    taken: list[Taken] = field(default_factory=list)

    def serve(self, request: int) -> bool:
        """Serve ``request`` and those after it; an alternative that leaves nothing for these is none."""
        if request == len(self.requests):
            return True
        one = self.requests[request]
        return any(
            self._choose(request, options, 0, count)
            for (count, _), options in zip(one.choices, one.options(self.room.layout), strict=True)
        )

    def _choose(self, request: int, options: Sequence[Taken], start: int, missing: int) -> bool:
        """Take ``missing`` distinct devices of ``options`` from ``start`` on, then go on with the next request."""
        if not missing:
            return self.serve(request + 1)
        for at in range(start, len(options)):
            device, amounts = options[at]
            self.steps += 1
            if self.steps > MOST_STEPS:
                return False
            if not self.room.has_room(device, amounts):
                continue
            self.room.hold(device, amounts)
            self.taken.append(options[at])
            if self._choose(request, options, at + 1, missing - 1):
                return True
            self.taken.pop()
            self.room.release(device, amounts)
        return False
