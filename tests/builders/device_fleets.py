"""Snapshots of a few pods that share devices, that want whole ones, or partitions of one."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from device_oracle import NodeDevices, first_fit
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.issues import Issues
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot

PROFILES = {"3g": (4, (0, 4)), "2g": (2, (0, 2, 4)), "1g": (1, (0, 1, 2, 3, 4, 5, 6))}
"""Memory slices of each partition of a GPU, and where it may begin."""

IDLE = 0.4
MOVABLE = 0.8
"""Shares of the pods that wait, and of the others that may move."""

Choice = tuple[int, Mapping[str, Mapping[str, int]]]
"""How many distinct devices, and by kind what is taken of each."""


def add_shared(message: pb.Snapshot, layout: str, gpus: Sequence[str], capacity: int = 100) -> None:
    """Add a layout of GPUs of the kinds ``gpus`` that pods share."""
    devices = [
        pb.Device(name=f"gpu-{at}", kind=kind, shared=True, capacity={"share": capacity})
        for at, kind in enumerate(gpus)
    ]
    message.device_layouts.add(id=layout, devices=devices)


def add_partitioned(message: pb.Snapshot, layout: str) -> None:
    """Add a layout of one GPU that can be partitioned."""
    made = message.device_layouts.add(id=layout, counters={f"0/gpu-0/slice-{at}": 1 for at in range(8)})
    for kind, (slices, begins) in PROFILES.items():
        for begin in begins:
            counters = {f"0/gpu-0/slice-{at}": 1 for at in range(begin, begin + slices)}
            made.devices.add(name=f"{kind}-{begin}", kind=kind, counters=counters, capacity={"device": 1})


def add_request(message: pb.Snapshot, name: str, *choices: Choice) -> str:
    """Add a request of so many devices, with alternatives, and return its id."""
    message.device_requests.add(
        id=name,
        first_available=[
            pb.DeviceChoice(
                count=count, takes=[pb.DeviceTake(device_kind=kind, amounts=amounts) for kind, amounts in takes.items()]
            )
            for count, takes in choices
        ],
    )
    return name


def hold(message: pb.Snapshot, node: str, device: int, pod: str, amounts: Mapping[str, int]) -> None:
    """Have a pod hold a device."""
    message.device_holdings.add(node=node, device=device, pod_uid=pod, amounts=amounts)


def decoded(message: pb.Snapshot) -> Snapshot:
    """Return the snapshot of ``message``, which is sound."""
    issues = Issues()
    snapshot = decode_snapshot(message, issues)
    issues.raise_if_any()
    return snapshot


def random_fleet(seed: int, *, nodes: int = 2, pods: int = 5, tiers: int = 1, running: bool = True) -> pb.Snapshot:
    """Return a small fleet of every sort; pods that run hold what first fit gave them."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    builder = SnapshotBuilder()
    message = builder.message
    add_shared(message, "shared", [draw.choice("aab") for _ in range(draw.randint(1, 3))])
    add_partitioned(message, "partitioned")
    for share in (20, 30, 40, 50, 70, 100):
        add_request(message, f"share-{share}", (1, {"a": {"share": share}, "b": {"share": share}}))
        add_request(message, f"only-a-{share}", (1, {"a": {"share": share}}))
    add_request(message, "two", (2, {"a": {"share": 60}, "b": {"share": 60}}))
    add_request(message, "whole-or-half", (1, {"b": {"share": 100}}), (1, {"a": {"share": 50}}))
    for kind in PROFILES:
        add_request(message, kind, (1, {kind: {"device": 1}}))
    add_request(message, "3g-or-two-1g", (1, {"3g": {"device": 1}}), (2, {"1g": {"device": 1}}))
    for at in range(nodes):
        builder.node(f"n{at}", cpu_milli=draw.randint(3, 10))
        message.nodes[-1].device_layout = draw.choice(["shared", "shared", "partitioned"])
    for at in range(pods):
        one = builder.pod_class(f"c{at}", cpu_milli=draw.randint(1, 3), priority=draw.randrange(tiers))
        count = draw.choice([1, 1, 1, 1, 2, 0])
        one.device_requests.extend(draw.choice([each.id for each in message.device_requests]) for _ in range(count))
        builder.pod(f"p{at}", of=one.id)
    if running:
        _run(message, draw)
    return message


def random_packings(
    seeds: Iterable[int], *, nodes: int = 2, pods: int = 5, tiers: int = 1, running: bool = True
) -> Iterator[tuple[int, Snapshot, Packing]]:
    """Yield seeds, their fleets and the problems of these, where pods ask for devices."""
    for seed in seeds:
        snapshot = decoded(random_fleet(seed, nodes=nodes, pods=pods, tiers=tiers, running=running))
        packing = reduce_snapshot(snapshot)
        if packing.bins is not None:
            yield seed, snapshot, packing


def _run(message: pb.Snapshot, draw: random.Random) -> None:
    """Have some of the pods run, with the devices that first fit gives them; a few nodes are overcommitted."""
    snapshot = decoded(message)
    devices = [NodeDevices(snapshot.device_layouts[node.device_layout]) for node in snapshot.nodes]
    left = [node.allocatable.cpu_milli + draw.choice([0, 0, 0, 2]) for node in snapshot.nodes]
    for pod, one in zip(message.pods, message.pod_classes, strict=True):
        at = draw.randrange(len(devices))
        picks = first_fit(snapshot, devices[at], one.device_requests)
        if draw.random() < IDLE or picks is None or one.requests.cpu_milli > left[at]:
            continue
        left[at] -= one.requests.cpu_milli
        devices[at].hold(picks)
        pod.node = message.nodes[at].name
        pod.movable = draw.random() < MOVABLE
        for device, amounts in picks:
            hold(message, pod.node, device, pod.uid, amounts)
