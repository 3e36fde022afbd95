"""Devices that pods share or that overlap: which ones may serve which request, and what is left of them.

Of a pod that runs only the devices matter that it holds. A plan may move it only if these are what it
would be given anew: otherwise it stays.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise

import numpy as np

from stowage_optimizer.constraints.refusals import class_refusal
from stowage_optimizer.model.bins import MOST_DEVICES, MOST_SLOTS, Bins, offsets
from stowage_optimizer.model.devices import Device, DeviceChoice, DeviceHolding, DeviceLayout
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.problem import Flags, Ints
from stowage_optimizer.model.snapshot import Refusal, Snapshot

WHOLE = {"device": 1}
"""What a device that is not shared has, and what whoever holds it takes."""

Takes = tuple[tuple[int, int], ...]
"""Pairs of slot and amount."""

Holding = tuple[int, Takes]
"""A device, and what is held of it."""


class _Slots:
    """Numbers the capacities and the counters of a layout."""

    def __init__(self, layout: DeviceLayout) -> None:
        self.devices = layout.devices
        self.of: list[dict[str, int]] = []
        self.first: list[int] = []
        self.offered: list[int] = []
        for device in layout.devices:
            capacity = device.capacity if device.shared else WHOLE
            names = sorted(capacity)
            self.first.append(len(self.offered))
            self.of.append({name: len(self.offered) + at for at, name in enumerate(names)})
            self.offered += [capacity[name] for name in names]
        self.counters = {name: len(self.offered) + at for at, name in enumerate(sorted(layout.counters))}
        self.first.append(len(self.offered))
        self.offered += [layout.counters[name] for name in sorted(layout.counters)]
        # Slots of which more is held than there is, on some node.
        self.exceeded: set[int] = set()

    def taken(self, device: int, amounts: Mapping[str, int]) -> Takes | None:
        """Return what a holding takes of a device; None if it lacks a capacity, or has less of it."""
        if not self.devices[device].shared:
            amounts = WHOLE
        slots = self.of[device]
        if any(name not in slots or amount > self.offered[slots[name]] for name, amount in amounts.items()):
            return None
        return tuple((slots[name], amount) for name, amount in sorted(amounts.items()) if amount)

    def opened(self, device: int) -> Takes:
        """Return what the first holding of a device takes of counters."""
        counters = self.devices[device].counters
        return tuple((self.counters[name], amount) for name, amount in sorted(counters.items()) if amount)

    def watched(self, device: int) -> tuple[Takes, Takes]:
        """Return the exceeded capacities of a device, and counters of its pools, which keep all off it: takes of 0."""
        if not self.exceeded:
            return (), ()
        pools = {name.partition("/")[0] for name in self.devices[device].counters}
        counters = {at for name, at in self.counters.items() if name.partition("/")[0] in pools}
        capacities = {*self.of[device].values()}
        return tuple((at, 0) for at in sorted(self.exceeded & capacities)), tuple(
            (at, 0) for at in sorted(self.exceeded & counters)
        )

    def share(self, device: int, takes: Takes) -> float:
        """Return how much of a device is taken: of one that is cut out of another, how much of that."""
        opened = self.opened(device)
        return max(sum(amount / max(1, self.offered[slot]) for slot, amount in of) for of in (takes, opened))

    def serving(self, choice: DeviceChoice) -> dict[int, Takes]:
        """Return by device that serves ``choice`` what it takes, in the scheduler's order."""
        amounts = {one.device_kind: one.amounts for one in choice.takes}
        found = {
            number: self.taken(number, amounts[device.kind])
            for number, device in enumerate(self.devices)
            if device.kind and device.kind in amounts
        }
        return {number: takes for number, takes in found.items() if takes is not None}


def device_bins(snapshot: Snapshot) -> "DeviceBins | None":
    """Return the devices of ``snapshot``; None if it says nothing of any."""
    asks = any(one.device_requests for one in snapshot.classes.values())
    return DeviceBins(snapshot) if asks or snapshot.device_holdings else None


@dataclass(slots=True)
class DeviceBins:
    """The devices of a snapshot.

    Parameters
    ----------
    layout
        Index of the layout by node, -1 for none or one that is too large, shape ``(nodes,)``.
    """

    snapshot: Snapshot
    layout: Ints = field(init=False)
    _slots: list[_Slots] = field(init=False)
    _number: dict[str, int] = field(init=False)
    _index: dict[str, int] = field(init=False)
    _serving: dict[tuple[int, int], list[dict[int, Takes]]] = field(init=False, default_factory=dict)
    _matched: dict[tuple[int, tuple[Holding, ...], tuple[int, ...]], bool] = field(init=False, default_factory=dict)
    _holdings: dict[str, list[tuple[int, Holding]]] = field(init=False)
    _choices: list[tuple[DeviceChoice, ...]] = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        self._slots = [_Slots(one) for one in snapshot.device_layouts.values()]
        number = {one: at for at, one in enumerate(snapshot.device_layouts)}
        fine = {one for one, at in number.items() if len(self._slots[at].offered) <= MOST_SLOTS}
        self.layout = np.array(
            [number[one.device_layout] if one.device_layout in fine else -1 for one in snapshot.nodes], np.int64
        )
        self._number = {one: at for at, one in enumerate(snapshot.device_requests)}
        # One without choices has one that no device serves.
        self._choices = [one.first_available or (DeviceChoice(1),) for one in snapshot.device_requests.values()]
        self._holdings = {}
        self._index = {node.name: at for at, node in enumerate(snapshot.nodes)}
        for one in snapshot.device_holdings:
            node = self._index[one.node]
            if self.layout[node] >= 0:
                self._holdings.setdefault(one.pod_uid, []).append((node, self._held(node, one)))
        self._find_exceeded()

    def _find_exceeded(self) -> None:
        """Note the slots of which pods hold more than there is, as after a change of the devices."""
        used = Counter[tuple[int, int]]()
        seen = set[tuple[int, int]]()
        for node, (device, takes) in chain.from_iterable(self._holdings.values()):
            opened = () if (node, device) in seen else self._slots[self.layout[node]].opened(device)
            seen.add((node, device))
            for slot, amount in (*takes, *opened):
                used[node, slot] += amount
        for (node, slot), amount in used.items():
            slots = self._slots[self.layout[node]]
            if amount > slots.offered[slot]:
                slots.exceeded.add(slot)

    def requests(self, pod_class: PodClass) -> tuple[int, ...]:
        """Return the numbers of what the pods of a class ask for, in the scheduler's order."""
        return tuple(self._number[one] for one in pod_class.device_requests)

    def refused(self) -> Iterator[tuple[str, Refusal]]:
        """Yield each class that asks for too many devices."""
        for one in self.snapshot.classes.values():
            counts = [max((each.count for each in self._choices[at]), default=0) for at in self.requests(one)]
            if sum(counts) > MOST_DEVICES:
                detail = f"asks for {sum(counts)} devices, more than the {MOST_DEVICES} that a plan can give a pod"
                yield class_refusal(one, "device-too-many", detail)

    def refusals(self, held_otherwise: Flags | None) -> Iterator[Refusal]:
        """Yield the nodes with too many devices, and the pods whose devices they keep."""
        for node, layout in zip(self.snapshot.nodes, self.layout.tolist(), strict=True):
            if node.device_layout and layout < 0:
                detail = f"its devices have more than {MOST_SLOTS} capacities and counters: no plan gives them to a pod"
                yield Refusal(f"node {node.name}", "device-too-many", detail)
        pods = self.snapshot.pods
        for at in () if held_otherwise is None else np.flatnonzero(held_otherwise).tolist():
            detail = "holds other devices than it would be given anew, so that it stays"
            yield Refusal(f"pod {pods.namespace[at]}/{pods.name[at]}", "device-held-otherwise", detail)

    def allowed(self, pod_class: PodClass) -> Flags:
        """Return by node whether enough of the empty one's devices serve each request."""
        asked = self.requests(pod_class)
        fits = [
            all(
                any(len(one) >= choice.count for one, choice in zip(served, self._choices[at], strict=True))
                for at in asked
                for served in [self._served(layout, at)]
            )
            for layout in range(len(self._slots))
        ]
        found: Flags = np.array([*fits, not asked], np.bool_)[self.layout]
        return found

    def held_otherwise(self) -> Flags:
        """Return by pod whether it runs and holds other devices than it would be given."""
        pods, classes = self.snapshot.pods, self.snapshot.classes
        concerned = {class_id for class_id, one in classes.items() if one.device_requests}
        flags = np.zeros(len(pods), np.bool_)
        for at, (uid, class_id, name) in enumerate(zip(pods.uid, pods.class_id, pods.node, strict=True)):
            if name and (class_id in concerned or uid in self._holdings):
                flags[at] = not self._holds(uid, self._index[name], classes[class_id])
        return flags

    def bins(self, items: Sequence[str]) -> Bins:
        """Return the arrays, for kinds that ask for nothing.

        Parameters
        ----------
        items
            The UIDs of the pods that a plan may move: what they hold counts as free.
        """
        options = _Options()
        choices = [(at, choice) for at, found in enumerate(self._choices) for choice in found]
        start = [self._start(layout, slots, options) for layout, slots in enumerate(self._slots)]
        homes = [
            [options.row(self._slots[self.layout[node]], *held) for node, held in self._holdings.get(uid, ())]
            for uid in items
        ]
        devices = max((len(one.devices) for one in self._slots), default=0)
        bounds = offsets([len(one) for one in self._choices]).tolist()
        made = Bins(
            layout=self.layout.astype(np.int32),
            left=self._offered(),
            held=np.zeros((len(self.layout), devices), np.int32),
            slot=_rows([_padded(one.first, devices + 1) for one in self._slots], devices + 1).astype(np.int32),
            twin=_rows([_twins(one.devices, devices) for one in self._slots], devices).astype(np.int32),
            start=_rows(start, len(choices) + 1).astype(np.int32),
            option=_rows(options.rows, 4).astype(np.int32),
            take=_rows(options.takes, 2),
            ask=np.zeros(1, np.int32),
            asked=np.zeros(0, np.int32),
            request=_rows([*pairwise(bounds)], 2).astype(np.int32),
            choice=_rows([(choice.count, at) for at, choice in choices], 2).astype(np.int32),
            home=offsets([len(one) for one in homes]),
            home_option=_rows([row for one in homes for row in one], 4).astype(np.int32),
            share=np.array(
                [self._share(at, number) for at, found in enumerate(self._choices) for number in range(len(found))]
            ),
            least=np.array(
                [self._least(at, number) for at, found in enumerate(self._choices) for number in range(len(found))],
                np.int64,
            ),
        )
        known = set(items)
        staying = [
            (node, _rows([options.row(self._slots[self.layout[node]], *held)], 4).astype(np.int32))
            for uid, holdings in self._holdings.items()
            if uid not in known
            for node, held in holdings
        ]
        # The table of takes has grown with what is held.
        return made._replace(take=_rows(options.takes, 2)).beside(range(len(items)), staying)

    def _start(self, layout: int, slots: _Slots, options: "_Options") -> list[int]:
        start = [len(options.rows)]
        for request in range(len(self._choices)):
            for served in self._served(layout, request):
                options.rows += [options.row(slots, device, takes) for device, takes in served.items()]
                start.append(len(options.rows))
        return start

    def _share(self, request: int, choice: int) -> float:
        layouts = range(len(self._slots))
        served = ((self._slots[at], self._served(at, request)[choice]) for at in layouts)
        most = max((slots.share(*one) for slots, found in served for one in found.items()), default=0.0)
        return self._choices[request][choice].count * most

    def _least(self, request: int, choice: int) -> int:
        served = (self._served(at, request)[choice].values() for at in range(len(self._slots)))
        return min((takes[0][1] if takes else 0 for found in served for takes in found), default=0)

    def _offered(self) -> Ints:
        width = max((len(one.offered) for one in self._slots), default=0)
        rows = [_padded(one.offered, width) for one in self._slots]
        return _rows([*rows, [0] * width], width)[self.layout]

    def _served(self, layout: int, request: int) -> list[dict[int, Takes]]:
        """Return by choice of a request the devices of a layout that serve it."""
        key = layout, request
        if key not in self._serving:
            self._serving[key] = [self._slots[layout].serving(choice) for choice in self._choices[request]]
        return self._serving[key]

    def _held(self, node: int, holding: DeviceHolding) -> Holding:
        slots = self._slots[self.layout[node]]
        known = slots.of[holding.device]
        amounts = holding.amounts if slots.devices[holding.device].shared else WHOLE
        return holding.device, tuple((known[name], amount) for name, amount in sorted(amounts.items()) if name in known)

    def _holds(self, uid: str, node: int, pod_class: PodClass) -> bool:
        holdings = self._holdings.get(uid, [])
        here = [held for at, held in holdings if at == node]
        if len(here) < len(holdings):
            return False
        key = int(self.layout[node]), tuple(here), self.requests(pod_class)
        # Replicas on nodes that are alike hold alike.
        if key not in self._matched:
            self._matched[key] = self._matches(*key)
        return self._matched[key]

    def _matches(self, layout: int, held: Sequence[Holding], asked: Sequence[int]) -> bool:
        """Return whether ``held`` is what some alternatives of the requests take, and nothing else."""
        if not asked or layout < 0:
            return not asked and not held
        for served, choice in zip(self._served(layout, asked[0]), self._choices[asked[0]], strict=True):
            fits = [at for at, (device, takes) in enumerate(held) if served.get(device) == takes]
            for chosen in combinations(fits, choice.count):
                distinct = len({held[at][0] for at in chosen}) == choice.count
                rest = [one for at, one in enumerate(held) if at not in chosen]
                if distinct and self._matches(layout, rest, asked[1:]):
                    return True
        return False


class _Options:
    """The tables of options and of what they take."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self.takes: list[tuple[int, int]] = []
        self._known: dict[tuple[int, int, Takes], tuple[int, int, int, int]] = {}

    def row(self, slots: _Slots, device: int, takes: Takes) -> tuple[int, int, int, int]:
        """Return the option that takes so much of a device, always the same for the same."""
        key = id(slots), device, takes
        if key not in self._known:
            first, (capacities, counters) = len(self.takes), slots.watched(device)
            self.takes += takes + capacities
            end = len(self.takes)
            self.takes += slots.opened(device) + counters
            self._known[key] = device, first, end, len(self.takes)
        return self._known[key]


def _twins(devices: Sequence[Device], width: int) -> list[int]:
    """Return a number by device: those of one kind that consume no counter have the same."""
    numbers: dict[object, int] = {}
    keys = [
        (one.kind, *sorted(one.capacity)) if one.kind and not one.counters else at for at, one in enumerate(devices)
    ]
    return [*(numbers.setdefault(key, at) for at, key in enumerate(keys)), *range(len(devices), width)]


def _padded(row: Sequence[int], width: int) -> list[int]:
    return [*row, *[row[-1] if row else 0] * (width - len(row))]


def _rows(rows: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array(rows, np.int64).reshape(len(rows), width)
