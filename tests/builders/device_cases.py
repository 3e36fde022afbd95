"""Small snapshots with devices, and the oracle of what fits: every way to give devices to pods is tried."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from device_builder import SLICES, WHOLE, DeviceBuilder, closed, partitions, shared
from hypothesis import strategies as st
from packing_oracle import feasible_assignments

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.packing import Assignment, Packing

Given = tuple[int, tuple[tuple[str, int], ...]]
"""A device by its index, and what is taken of it."""


def _add_requests(builder: DeviceBuilder) -> list[str]:
    message = builder.message
    for amount in (20, 40, 50, 70, 100):
        builder.request(f"{amount}", (1, {"gpu": {"units": amount}, "big": {"units": amount}}))
    builder.request("big", (1, {"big": {"units": 60}}))
    builder.request("two", (2, {"gpu": {"units": 50}, "big": {"units": 60}}))
    builder.request("rather-big", (1, {"big": {"units": 100}}), (2, {"gpu": {"units": 30}}))
    for kind in ("4g", "2g", "1g"):
        builder.request(kind, (1, {kind: WHOLE}))
    builder.request("2g-or-1g", (1, {"2g": WHOLE}), (2, {"1g": WHOLE}))
    builder.request("anything", (1, {"none": {}, "half": {"units": 50}}))
    return [one.id for one in message.device_requests]


def _add_node(builder: DeviceBuilder, name: str, draw: st.DrawFn) -> None:
    if draw(st.integers(0, 2)) == 0:
        halves = partitions()
        if draw(st.booleans()):
            for one in halves[1:3]:
                one.kind, one.shared = "half", True
                one.capacity.clear()
                one.capacity["units"] = 100
        broken = {name: 0 for name in SLICES if draw(st.integers(0, 9)) == 0}
        builder.node(name, *halves, counters=SLICES | broken)
        return
    devices = [
        shared(f"gpu-{at}", draw(st.sampled_from(["gpu", "gpu", "big"])), units=draw(st.sampled_from([100, 100, 80])))
        for at in range(draw(st.integers(1, 3)))
    ]
    if draw(st.integers(0, 4)) == 0:
        closed(devices[0])
    if draw(st.integers(0, 4)) == 0:
        devices.append(pb.Device(name="free", kind="none", shared=True))
    builder.node(name, *devices)


@st.composite
def device_snapshots(draw: st.DrawFn, *, nodes: int = 2, pods: int = 5, tiers: int = 2) -> pb.Snapshot:
    """Up to two nodes and five pods; some run, mostly with devices that they would be given anew.

    Devices are shared, partitions of one GPU, or both, closed, or held by nobody; some are worn: fewer pods fit than
    hold them.
    """
    builder = DeviceBuilder()
    requests = _add_requests(builder)
    names = [f"n{index}" for index in range(draw(st.integers(1, nodes)))]
    for name in names:
        _add_node(builder, name, draw)
        builder.message.nodes[-1].allocatable.cpu_milli = draw(st.integers(2, 9))
    for index in range(draw(st.integers(1, pods))):
        asked = draw(st.lists(st.sampled_from(requests), max_size=2))
        home = draw(st.sampled_from(["", "", *names]))
        held: Sequence[Given] | None = ()
        if home:
            held = draw(st.sampled_from([*_ways(builder.message, home, asked), None]))
            home = "" if held is None else home
        builder.pod(
            f"p{index}",
            *asked,
            node=home,
            holds=[(device, dict(amounts)) for device, amounts in held or ()],
            priority=draw(st.integers(0, tiers - 1)),
            movable=draw(st.integers(0, 5)) > 0,
        )
        builder.message.pod_classes[-1].requests.cpu_milli = draw(st.integers(0, 3))
        builder.message.pod_classes[-1].worth = draw(st.sampled_from([0, 0, 3, 100]))
    for name in names:
        if draw(st.integers(0, 3)) == 0:
            builder.held(name, 0, draw(st.sampled_from([{"units": 30}, {"units": 90}])))
    return builder.message


def _ways(message: pb.Snapshot, node: str, asked: Sequence[str]) -> list[tuple[Given, ...]]:
    """Return some ways to give a pod devices on a node, whoever holds them."""
    layouts = {one.id: one for one in message.device_layouts}
    (layout,) = (layouts[one.device_layout] for one in message.nodes if one.name == node)
    return list(_grants(layout, [one for name in asked for one in message.device_requests if one.id == name]))[:12]


def _grants(layout: pb.DeviceLayout, asked: Sequence[pb.DeviceRequest]) -> Iterator[tuple[Given, ...]]:
    """Yield every way to serve requests by devices of an empty node, each request by distinct ones."""
    if not asked:
        yield ()
        return
    for choice in asked[0].first_available:
        takes = {take.device_kind: tuple(sorted(take.amounts.items())) for take in choice.takes}
        serving = [(at, takes[one.kind]) for at, one in enumerate(layout.devices) if one.kind in takes]
        for chosen in _subsets(serving, choice.count):
            for rest in _grants(layout, asked[1:]):
                yield (*chosen, *rest)


def _subsets(serving: Sequence[Given], number: int) -> Iterator[tuple[Given, ...]]:
    if not number:
        yield ()
        return
    for at, one in enumerate(serving):
        for rest in _subsets(serving[at + 1 :], number - 1):
            yield (one, *rest)


class DeviceOracle:
    """Says which pods fit on a node's devices together, in whatever order they come."""

    def __init__(self, message: pb.Snapshot) -> None:
        layouts = {one.id: one for one in message.device_layouts}
        requests = {one.id: one for one in message.device_requests}
        classes = {one.id: one for one in message.pod_classes}
        self.layout = {one.name: layouts.get(one.device_layout) for one in message.nodes}
        self.asked = {
            pod.uid: tuple(requests[name] for name in classes[pod.class_id].device_requests) for pod in message.pods
        }
        self.holders = {one.uid for one in message.pods}
        self.held: defaultdict[tuple[str, str], list[Given]] = defaultdict(list)
        for one in message.device_holdings:
            self.held[one.node, one.pod_uid].append((one.device, tuple(sorted(one.amounts.items()))))
        self.fit_together = cache(self._fit_together)

    def _fit_together(self, node: str, stays: frozenset[str], comes: frozenset[str]) -> bool:
        """Return whether pods can come beside those that stay, with nobody's holdings."""
        layout = self.layout[node]
        asking = sorted(uid for uid in comes if self.asked[uid])
        if layout is None or not asking:
            return not asking
        there = [one for uid in ("", *stays) for one in self.held[node, uid]]
        return self._can_come(layout, there, asking)

    def _can_come(self, layout: pb.DeviceLayout, there: list[Given], coming: Sequence[str]) -> bool:
        if not coming:
            return True
        return any(
            self._can_come(layout, [*there, *given], coming[1:])
            for given in _grants(layout, self.asked[coming[0]])
            if _has_room(layout, there, given)
        )

    def fits(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether the pods of ``packing`` may be where ``assignment`` says."""
        after: defaultdict[int, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
        items = zip(packing.pod_uids, packing.current, assignment, strict=True)
        for uid, home, node in items:
            if node is not None:
                after[node][home != node].add(uid)
        in_play = set(packing.pod_uids)
        others = self.holders - in_play
        return all(
            self.fit_together(packing.node_names[node], frozenset(stays | others), frozenset(comes))
            for node, (stays, comes) in after.items()
        )


def _has_room(layout: pb.DeviceLayout, there: Sequence[Given], given: Sequence[Given]) -> bool:
    """Return whether nothing that is taken now is taken of what is used up."""
    used: defaultdict[int, Counter[str]] = defaultdict(Counter)
    counters = Counter[str]()
    for device, amounts in (*there, *given):
        used[device].update(dict(amounts))
    held = Counter(device for device, _ in (*there, *given))
    opened = {device for device, _ in there}
    for device in held:
        counters.update(layout.devices[device].counters)
    for device, amounts in given:
        one = layout.devices[device]
        if held[device] > 1 and not one.shared:
            return False
        if any(used[device][name] > one.capacity[name] for name, amount in amounts if amount):
            return False
        if device not in opened and any(
            counters[name] > layout.counters[name] for name, by in one.counters.items() if by
        ):
            return False
    return True


def feasible_with_devices(message: pb.Snapshot, packing: Packing) -> Iterator[Assignment]:
    """Yield every assignment of ``packing`` in which all coming pods fit their nodes, with their devices."""
    oracle = DeviceOracle(message)
    return (one for one in feasible_assignments(packing) if oracle.fits(packing, one))
