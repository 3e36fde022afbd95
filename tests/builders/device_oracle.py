"""The oracle of devices: the allocator's first fit, and every order in which pods can come to a node."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product

from stowage_optimizer.model.devices import DeviceLayout
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.snapshot import Snapshot

Picks = tuple[tuple[int, dict[str, int]], ...]
"""Devices, and what is taken of each."""


@dataclass(slots=True)
class NodeDevices:
    """The devices of one node, and who holds them."""

    layout: DeviceLayout
    taken: dict[int, Counter[str]] = field(default_factory=dict)
    holders: Counter[int] = field(default_factory=Counter)

    def copy(self) -> "NodeDevices":
        """Return the same, to be changed by itself."""
        return NodeDevices(self.layout, {at: Counter(one) for at, one in self.taken.items()}, Counter(self.holders))

    def hold(self, picks: Picks) -> None:
        """Take the devices ``picks``."""
        for device, amounts in picks:
            self.taken.setdefault(device, Counter()).update(amounts)
            self.holders[device] += 1

    def sound(self, picks: Picks) -> bool:
        """Return whether nobody who takes ``picks`` as well finds too little of anything that is taken."""
        after = self.copy()
        after.hold(picks)
        devices = self.layout.devices
        for device, amounts in picks:
            if devices[device].shared:
                capacity = devices[device].capacity
                if any(
                    name not in capacity or after.taken[device][name] > capacity[name]
                    for name in amounts
                    if amounts[name]
                ):
                    return False
            elif after.holders[device] > 1:
                return False
        used: Counter[str] = Counter()
        for device, number in after.holders.items():
            if number:
                used.update(devices[device].counters)
        opened = {name for device, _ in picks if not self.holders[device] for name in devices[device].counters}
        return all(used[name] <= self.layout.counters[name] for name in opened)


def ways(snapshot: Snapshot, node: NodeDevices, requests: Sequence[str]) -> Iterator[Picks]:
    """Yield every way to serve ``requests`` on an empty node, in the order in which the allocator tries them."""

    def of_request(name: str) -> list[Picks]:
        found: list[Picks] = []
        for choice in snapshot.device_requests[name].first_available:
            amounts = {one.device_kind: dict(one.amounts) for one in choice.takes}
            serving = [at for at, one in enumerate(node.layout.devices) if one.kind and one.kind in amounts]
            found += [
                tuple((at, amounts[node.layout.devices[at].kind]) for at in chosen)
                for chosen in combinations(serving, choice.count)
            ]
        return found

    for parts in product(*map(of_request, requests)):
        yield tuple(pick for part in parts for pick in part)


def first_fit(snapshot: Snapshot, node: NodeDevices, requests: Sequence[str]) -> Picks | None:
    """Return what the allocator gives a pod that comes now; None if it cannot come."""
    return next((one for one in ways(snapshot, node, requests) if node.sound(one)), None)


def replay(snapshot: Snapshot, node: NodeDevices, order: Sequence[Sequence[str]]) -> list[Picks] | None:
    """Return what pods with these requests get that come in this order; None if one cannot come."""
    node, found = node.copy(), []
    for requests in order:
        picks = first_fit(snapshot, node, requests)
        if picks is None:
            return None
        node.hold(picks)
        found.append(picks)
    return found


def some_order(snapshot: Snapshot, node: NodeDevices, coming: Sequence[Sequence[str]]) -> bool:
    """Return whether pods with these requests can come in any order."""
    return any(replay(snapshot, node, order) is not None for order in permutations(coming))


@dataclass(slots=True)
class DeviceOracle:
    """Judges assignments of a packing by its snapshot, order by order."""

    snapshot: Snapshot
    packing: Packing
    _staying: list[NodeDevices] = field(init=False)
    _held: dict[str, Picks] = field(init=False, default_factory=dict)
    _known: dict[object, bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        layouts = self.snapshot.device_layouts
        self._staying = [NodeDevices(layouts[node.device_layout]) for node in self.snapshot.nodes]
        names = [node.name for node in self.snapshot.nodes]
        items = {*self.packing.pod_uids}
        for one in self.snapshot.device_holdings:
            pick = (one.device, dict(one.amounts))
            if one.pod_uid in items:
                self._held[one.pod_uid] = (*self._held.get(one.pod_uid, ()), pick)
            else:
                self._staying[names.index(one.node)].hold((pick,))

    def reachable(self, assignment: Assignment) -> bool:
        """Return whether on every node those that come can do so in some order."""
        return all(self._node(node, assignment) for node in range(len(self._staying)))

    def _node(self, node: int, assignment: Assignment) -> bool:
        packing = self.packing
        here = [item for item, at in enumerate(assignment) if at == node and packing.kind_of[item].requests]
        key = node, *here
        if key not in self._known:
            devices = self._staying[node].copy()
            for item in here:
                if packing.current[item] == node:
                    devices.hold(self._held[packing.pod_uids[item]])
            coming = [item for item in here if packing.current[item] != node]
            requests = [self.snapshot.classes[packing.class_ids[item]].device_requests for item in coming]
            self._known[key] = some_order(self.snapshot, devices, requests)
        return self._known[key]
