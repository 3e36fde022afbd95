"""Devices as further amounts, by the weights that a certificate names.

Whatever the requests weigh, what is on a node weighs no more than the heaviest contents of its devices together. So a
pod takes the weight of its requests, by the alternative with the fewest devices, and a node offers that of these
contents. They are found anew here, from the contract's messages.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.certificate.knapsack import Choice, most_valuable
from stowage_optimizer.verify.device_room import MOST_DEVICES, Devices, Layout

LARGEST_WEIGHT = 2**40
"""Of one device: larger numbers prove nothing that smaller ones do not."""

MOST_WEIGHTS = 16
"""Amounts that the devices become at most; each is looked at on every node."""


_State = tuple[tuple[tuple[int, ...], ...], tuple[bool, ...], tuple[int, ...]]
"""Of a node: room by device and capacity, which devices' counters are consumed already, and what is left of all."""


@dataclass(slots=True)
class DeviceAmounts:
    """What pods take and nodes offer of devices, by each of a claim's weights.

    Parameters
    ----------
    fixed
        The pods that stay where they are, and keep their devices.
    """

    case: Case
    weights: Sequence[Mapping[str, int]]
    fixed: Collection[str]
    _devices: Devices | None = field(init=False)
    _contents: dict[tuple[tuple[Choice, ...], tuple[int, ...]], int] = field(init=False, default_factory=dict)
    _heaviest: dict[tuple[str, _State], Counter[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._devices = self.case.index.devices

    def problems(self) -> Iterator[str]:
        """Yield what makes the weights unfit to prove anything."""
        known = {one.id for one in self.case.snapshot.device_requests}
        if len(self.weights) > MOST_WEIGHTS:
            yield f"there are {len(self.weights)} weights of devices, more than {MOST_WEIGHTS}"
        for weights in self.weights:
            for name, weight in weights.items():
                if name not in known:
                    yield f"unknown device request {name}"
                elif not 0 <= weight <= LARGEST_WEIGHT:
                    yield f"the weight of {name} is {weight}, not in 0..{LARGEST_WEIGHT}"

    def taken(self, class_id: str) -> Counter[str]:
        """Return what a pod of the class takes at the least."""
        taken = Counter[str]()
        if self._devices:
            for request in self._devices.requests_of.get(class_id, ()):
                fewest = min((count for count, _ in request.choices), default=0)
                for at, weights in enumerate(self.weights):
                    taken[_name(at)] += fewest * weights.get(request.id, 0)
        return taken

    def served(self, class_id: str, node: str) -> bool:
        """Return whether a pod of the class could have devices on the node if nobody else were there."""
        asked = self._devices.requests_of.get(class_id, ()) if self._devices else ()
        if not asked or self._devices is None:
            return True
        layout = self._devices.layout_of.get(node)
        return layout is not None and all(
            any(
                len(options) >= count
                for (count, _), options in zip(request.choices, request.options(layout), strict=True)
            )
            for request in asked
        )

    def offered(self, node: str) -> Counter[str]:
        """Return what the heaviest contents of the node's devices weigh; not to be altered."""
        layout = self._devices.layout_of.get(node) if self._devices and self.weights else None
        if layout is None:
            return Counter()
        state = self._state(node, layout)
        if (layout.id, state) not in self._heaviest:
            self._heaviest[layout.id, state] = Counter(
                {_name(at): self._heaviest_content(layout, state, one) for at, one in enumerate(self.weights)}
            )
        return self._heaviest[layout.id, state]

    def _state(self, node: str, layout: Layout) -> _State:
        """Return what is left beside pods that stay, or where that is less, what others hold: they may stay too."""
        devices = range(len(layout.devices))
        left, held = [Counter(one) for one in layout.capacity], [Counter[str]() for _ in devices]
        counters, consumed = Counter(layout.counters), Counter[str]()
        opened, opening = [False] * len(devices), set[int]()
        assert self._devices is not None  # noqa: S101 - it has a layout
        for device, uid, amounts in self._devices.holdings[node]:
            if uid and uid not in self.fixed and self.case.before(uid) == node:
                held[device].update(amounts if layout.shared[device] else {"device": 1})
                opening.add(device)
                continue
            left[device].subtract(amounts if layout.shared[device] else {"device": 1})
            if not opened[device]:
                counters.subtract(layout.consumes[device])
            opened[device] = True
        for device in opening:
            if not opened[device]:
                consumed.update(layout.consumes[device])
        rooms = [tuple(max(left[at][name], held[at][name]) for name in sorted(layout.capacity[at])) for at in devices]
        return tuple(rooms), tuple(opened), tuple(max(counters[one], consumed[one]) for one in sorted(layout.counters))

    def _heaviest_content(self, layout: Layout, state: _State, weights: Mapping[str, int]) -> int:
        rooms, opened, counters = state
        left = dict(zip(sorted(layout.counters), counters, strict=True))
        total, together = 0, Counter[tuple[int, frozenset[tuple[str, int]]]]()
        for device, room in enumerate(rooms):
            worth = self._content(self._choices(layout, device, weights), room)
            consumes = frozenset((name, by) for name, by in layout.consumes[device].items() if by)
            if worth and consumes and not opened[device]:
                together[worth, consumes] += 1
            else:
                total += worth
        for part in _apart(together):
            names = sorted({name for _, consumes in part for name, _ in consumes})
            choices = [
                Choice(worth, tuple(dict(consumes).get(name, 0) for name in names), together[worth, consumes])
                for worth, consumes in part
            ]
            total += self._content(choices, tuple(left[name] for name in names))
        return total

    def _choices(self, layout: Layout, device: int, weights: Mapping[str, int]) -> list[Choice]:
        """Return what may be taken of a device, and what that weighs."""
        assert self._devices is not None  # noqa: S101 - it has a layout
        names, most = sorted(layout.capacity[device]), MOST_DEVICES * len(self.case.pods)
        needs: Counter[tuple[int, ...]] = Counter()
        for request in self._devices.requests.values():
            for _, takes in request.choices:
                amounts = takes.get(layout.kinds[device])
                if amounts is not None and layout.has(device, amounts):
                    need = tuple(amounts.get(name, 0) for name in names)
                    needs[need] = max(needs[need], weights.get(request.id, 0))
        return [Choice(weight, need, most) for need, weight in sorted(needs.items()) if weight]

    def _content(self, choices: Sequence[Choice], room: tuple[int, ...]) -> int:
        key = tuple(choices), room
        if key not in self._contents:
            fitting = [one for one in choices if all(n <= left for n, left in zip(one.need, room, strict=True) if n)]
            self._contents[key] = most_valuable(fitting, [max(0, left) for left in room], 0)
        return self._contents[key]


def _name(at: int) -> str:
    return f"devices {at}"


_Part = list[tuple[int, frozenset[tuple[str, int]]]]


def _apart(together: Collection[tuple[int, frozenset[tuple[str, int]]]]) -> list[_Part]:
    """Return devices in parts that have no counter in common."""
    parts: list[tuple[_Part, set[str]]] = []
    for one in sorted(together, key=lambda each: (each[0], sorted(each[1]))):
        own = {name for name, _ in one[1]}
        joined = [part for part in parts if part[1] & own]
        parts = [part for part in parts if not part[1] & own]
        parts.append(
            ([one, *(each for part, _ in joined for each in part)], own.union(*(names for _, names in joined)))
        )
    return [part for part, _ in parts]
