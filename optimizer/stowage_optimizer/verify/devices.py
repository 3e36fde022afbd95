"""Pods get the devices that the plan names: what the scheduler allocates depends on who came before.

On each node the devices of the pods that leave are free first. Then pods come in the order of their turns, and each is
given the first devices that serve it, as the scheduler does.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.device_room import Amounts, DeviceRoom, Devices, Layout, Request, Unfit, first_fit
from stowage_optimizer.verify.violation import Violation


def snapshot_faults(snapshot: pb.Snapshot) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the devices of ``snapshot``, and of what."""
    named = (("device layout", snapshot.device_layouts), ("device request", snapshot.device_requests))
    for what, messages in named:
        for name, count in Counter(one.id for one in messages).items():
            if count > 1:
                yield name, f"{what} appears {count} times"
    yield from _amount_faults(snapshot)
    known = {one.id for one in snapshot.device_requests}
    for pod_class in snapshot.pod_classes:
        for name in set(pod_class.device_requests) - known:
            yield pod_class.id, f"unknown device request {name}"
    number = {"": 0} | {one.id: len(one.devices) for one in snapshot.device_layouts}
    having = {one.name: number.get(one.device_layout) for one in snapshot.nodes}
    for name, devices in having.items():
        if devices is None:
            yield name, "unknown device layout"
    for one in snapshot.device_holdings:
        if not 0 <= one.device < (having.get(one.node) or 0):
            yield one.node, f"has no device {one.device}, which {one.pod_uid or 'somebody'} holds"


def _amount_faults(snapshot: pb.Snapshot) -> Iterator[tuple[str, str]]:
    for layout in snapshot.device_layouts:
        for device in layout.devices:
            if not set(device.counters) <= set(layout.counters):
                yield layout.id, f"{device.name} consumes a counter that the layout has not"
            if _negative(layout.counters, device.counters, device.capacity):
                yield layout.id, f"{device.name} has a negative amount"
    for request in snapshot.device_requests:
        for choice in request.first_available:
            if choice.count < 1 or _negative(*(take.amounts for take in choice.takes)):
                yield request.id, "has a negative amount, or a count below 1"
    for one in snapshot.device_holdings:
        if _negative(one.amounts):
            yield one.node, f"{one.pod_uid or 'somebody'} holds a negative amount"


def _negative(*every: Mapping[str, int]) -> bool:
    return any(amount < 0 for amounts in every for amount in amounts.values())


class Arrival(NamedTuple):
    """A pod that comes to a node in its turn, and the devices that the plan says it gets."""

    turn: int
    uid: str
    node: str
    devices: Sequence[int]


def check_devices(case: Case) -> Iterator[Violation]:
    """Yield arrivals that are not given the devices that the plan names, or none at all."""
    known = case.index.devices
    asking = known.requests_of if known else {}
    arrivals: defaultdict[str, list[Arrival]] = defaultdict(list)
    turns: dict[int, str] = {}
    for one in arrivals_in_turn(case):
        if case.class_id(one.uid) not in asking:
            if one.turn or one.devices:
                yield Violation("devices", one.uid, "has a turn or devices, but asks for none")
        elif one.turn <= 0:
            yield Violation("devices", one.uid, f"asks for devices and comes to {one.node} without a turn")
        elif one.turn in turns:
            yield Violation("devices", one.uid, f"turn {one.turn} is that of {turns[one.turn]} too")
        else:
            turns[one.turn] = one.uid
            arrivals[one.node].append(one)
    if known:
        for node, coming in arrivals.items():
            yield from _check_node(case, known, node, coming)


def arrivals_in_turn(case: Case) -> list[Arrival]:
    """Return the pods that come to nodes, in the order of their turns."""
    plan = case.plan
    steps = [(one, one.node) for one in plan.placements] + [(one, one.to_node) for one in plan.moves]
    return sorted(
        Arrival(one.turn, one.pod_uid, node, list(one.devices))
        for one, node in steps
        if one.pod_uid in case.pods and node in case.nodes
    )


def _check_node(case: Case, known: Devices, node: str, coming: Sequence[Arrival]) -> Iterator[Violation]:
    """Yield what goes wrong when pods come to the node in their turns."""
    layout = known.layout_of.get(node)
    if layout is None:
        for one in coming:
            yield Violation("devices", one.uid, f"{node} has no such devices")
        return
    room = DeviceRoom(layout)
    for device, uid, amounts in known.holdings[node]:
        if not leaves(case, uid, node):
            room.hold(device, amounts)
    for one in coming:
        taken = first_fit(room, known.requests_of[case.class_id(one.uid)])
        if isinstance(taken, Unfit):
            yield Violation("devices", one.uid, f"on {node}, in turn {one.turn}: {taken}")
            continue
        found = [device for device, _ in taken]
        if found != one.devices:
            yield Violation("devices", one.uid, f"on {node}: gets {_names(layout, found)}, the plan says "
                            f"{_names(layout, one.devices)}")  # fmt: skip


def leaves(case: Case, uid: str, node: str) -> bool:
    """Return whether the plan takes the pod off the node that it is on in truth."""
    return uid in case.touched and case.before(uid) == node != case.after(uid)


def _names(layout: Layout, devices: Sequence[int]) -> str:
    return ", ".join(map(layout.name, devices)) or "none"


def held_otherwise(case: Case) -> set[str]:
    """Return the running pods that hold other devices than they would be given anew.

    No strategy moves them: they stay, and keep what they hold.
    """
    known = case.index.devices
    if known is None:
        return set()
    held: defaultdict[str, list[tuple[str, int, Amounts]]] = defaultdict(list)
    for node, holdings in known.holdings.items():
        for device, uid, amounts in holdings:
            if uid:
                held[uid].append((node, device, amounts))
    found = set()
    for uid, pod in case.pods.items():
        asked = known.requests_of.get(pod.class_id, ())
        if pod.node and (asked or uid in held):
            layout = known.layout_of.get(pod.node)
            here = [_content(layout, device, amounts) for node, device, amounts in held[uid] if node == pod.node]
            if len(here) < len(held[uid]) or not _serves(layout, here, asked):
                found.add(uid)
    return found


_Held = tuple[int, frozenset[tuple[str, int]]]


def _content(layout: Layout | None, device: int, amounts: Amounts) -> _Held:
    """Return a device and what is held of it; of one that is not shared that is always all."""
    if layout and not layout.shared[device]:
        amounts = {"device": 1}
    return device, frozenset((name, amount) for name, amount in amounts.items() if amount)


def _serves(layout: Layout | None, held: Sequence[_Held], asked: Sequence[Request]) -> bool:
    """Return whether ``held`` is what some alternatives of the requests take, and nothing else."""
    if not asked or layout is None:
        return not asked and not held
    for (count, _), options in zip(asked[0].choices, asked[0].options(layout), strict=True):
        served = {_content(layout, *one) for one in options}
        fitting = [at for at, one in enumerate(held) if one in served]
        for chosen in combinations(fitting, count):
            rest = [one for at, one in enumerate(held) if at not in chosen]
            if len({held[at][0] for at in chosen}) == count and _serves(layout, rest, asked[1:]):
                return True
    return False
