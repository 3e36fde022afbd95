"""Snapshots whose nodes have devices that pods share or that overlap, in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb

WHOLE = {"device": 1}
"""Of a device that is not shared."""

Choice = tuple[int, Mapping[str, Mapping[str, int]]]
"""So many devices, and what is taken of each by its kind."""


def shared(name: str, kind: str = "gpu", **capacity: int) -> pb.Device:
    """Return a device that several pods may hold; of 100 units unless said otherwise."""
    return pb.Device(name=name, kind=kind, shared=True, capacity=capacity or {"units": 100})


def whole(name: str, kind: str = "gpu", **counters: int) -> pb.Device:
    """Return a device of one pod, with what it consumes of the counters of its pool's only set."""
    own = {f"0/set/{counter}": amount for counter, amount in counters.items()}
    return pb.Device(name=name, kind=kind, capacity=WHOLE, counters=own)


def closed(device: pb.Device) -> pb.Device:
    """Return the same device, which no request takes."""
    device.kind = ""
    return device


def partitions() -> list[pb.Device]:
    """Return a GPU of four slices: one partition of all of them, two of two, four of one; slices do not overlap."""
    cuts = [("4g", range(4)), ("2g", range(2)), ("2g", range(2, 4)), *(("1g", range(at, at + 1)) for at in range(4))]
    return [whole(f"{kind}-{slices.start}", kind, **{f"slice-{one}": 1 for one in slices}) for kind, slices in cuts]


SLICES = {f"0/set/slice-{at}": 1 for at in range(4)}


@dataclass(slots=True)
class DeviceBuilder:
    """A snapshot builder that knows devices; every method returns the builder."""

    cluster: SnapshotBuilder = field(default_factory=SnapshotBuilder)

    @property
    def message(self) -> pb.Snapshot:
        """The snapshot."""
        return self.cluster.message

    def node(self, name: str, *devices: pb.Device, counters: Mapping[str, int] | None = None) -> DeviceBuilder:
        """Add a roomy node with devices, in the order in which the scheduler tries them."""
        layout = pb.DeviceLayout(devices=devices, counters=counters)
        for known in self.message.device_layouts:
            layout.id = known.id
            if known == layout:
                break
        else:
            layout.id = f"layout-{len(self.message.device_layouts)}"
            self.message.device_layouts.append(layout)
        self.cluster.node(name)
        self.message.nodes[-1].device_layout = layout.id
        return self

    def request(self, name: str, *choices: Choice) -> DeviceBuilder:
        """Add a request; its choices are alternatives."""
        request = self.message.device_requests.add(id=name)
        for count, takes in choices:
            request.first_available.add(
                count=count, takes=[pb.DeviceTake(device_kind=kind, amounts=amounts) for kind, amounts in takes.items()]
            )
        return self

    def pod(
        self,
        name: str,
        *requests: str,
        node: str = "",
        holds: Sequence[tuple[int, Mapping[str, int]]] = (),
        priority: int = 0,
        movable: bool = True,
    ) -> DeviceBuilder:
        """Add a pod of a class of its own that asks for devices, and what it holds of its node's."""
        self.cluster.pod(name, node=node, priority=priority, movable=movable)
        self.message.pod_classes[-1].device_requests.extend(requests)
        for device, amounts in holds:
            self.held(node, device, amounts, by=name)
        return self

    def held(self, node: str, device: int, amounts: Mapping[str, int], by: str = "") -> DeviceBuilder:
        """Add that somebody holds a device."""
        self.message.device_holdings.add(node=node, device=device, pod_uid=by, amounts=amounts)
        return self


def plan_in_turns(
    snapshot: pb.Snapshot, *arrivals: tuple[str, str, Sequence[int]], leaves: Sequence[str] = ()
) -> pb.Plan:
    """Return a plan of pods that come to nodes in this order, with these devices, and of pods that are evicted."""
    home = {pod.uid: pod.node for pod in snapshot.pods}
    plan = pb.Plan(snapshot_id=snapshot.id)
    for turn, (uid, node, devices) in enumerate(arrivals, 1):
        if home[uid]:
            plan.moves.add(pod_uid=uid, from_node=home[uid], to_node=node, turn=turn, devices=devices)
        else:
            plan.placements.add(pod_uid=uid, node=node, turn=turn, devices=devices)
    for uid in leaves:
        plan.evictions.add(pod_uid=uid, node=home[uid])
    return plan
