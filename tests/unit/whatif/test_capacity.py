"""What is free, where, and what nobody can use."""

from __future__ import annotations

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.capacity import rooms
from stowage_testbed.whatif.findings import Room

GPU = "nvidia.com/gpu"


@pytest.fixture
def snapshot() -> pb.Snapshot:
    """Return two nodes with 8 cores and 4 GPUs, and one without GPUs.

    The first node's cores are taken by a pod without GPUs, so its GPUs are stranded.
    """
    train = pb.Resources(cpu_milli=1000, extended={GPU: 1})
    made = pb.Snapshot(
        pod_classes=[
            pb.PodClass(id="web", requests=pb.Resources(cpu_milli=8000)),
            pb.PodClass(id="train", requests=train),
        ]
    )
    for name, cpu_milli, extended in (
        ("g1", 8000, {GPU: 4}), ("g2", 8000, {GPU: 4}), ("c", 4000, {}),
    ):  # fmt: skip
        room = pb.Resources(cpu_milli=cpu_milli, pods=10, extended=extended)
        made.nodes.add(name=name, allocatable=room)
    made.pods.add(uid="1", class_id="web", node="g1")
    made.pods.add(uid="2", class_id="train", node="g2")
    made.pods.add(uid="3", class_id="train")
    return made


def _of(snapshot: pb.Snapshot, resource: str) -> Room:
    return next(room for room in rooms(snapshot) if room.resource == resource)


def test_an_extended_resource_counts_like_cpu(snapshot: pb.Snapshot) -> None:
    """Pending pods use nothing; a row for what no node has would push others off."""
    snapshot.nodes[0].allocatable.extended["hugepages-2Mi"] = 0
    assert list(rooms(snapshot)) == [
        Room("cpu", 20000, 11000, stranded=0, nodes=3, free_nodes=2, largest_free=7000),
        Room(GPU, 8, 7, stranded=4, nodes=2, free_nodes=2, largest_free=4),
    ]


def test_only_what_another_resource_blocks_is_stranded(snapshot: pb.Snapshot) -> None:
    """What is short itself, or asked for by nobody, has nothing to blame."""
    snapshot.nodes[2].allocatable.extended["example.com/fpga"] = 2
    snapshot.nodes[2].allocatable.ephemeral_storage_bytes = 10
    fpga, disk = (_of(snapshot, one) for one in ("example.com/fpga", "ephemeral-storage"))
    assert (fpga.free, fpga.stranded, fpga.nodes) == (2, 0, 1)
    assert (disk.free, disk.stranded, disk.nodes) == (10, 0, 1)

    snapshot.pods.add(uid="4", class_id="web", node="g1")
    assert _of(snapshot, "cpu").free == 11000, "an overcommitted node has nothing"

    snapshot.nodes[1].allocatable.pods = 1
    assert _of(snapshot, GPU).stranded == 7, "slots are a resource as well"

    snapshot.nodes[1].allocatable.pods = 10
    snapshot.pod_classes[1].requests.extended[GPU] = 3
    assert (_of(snapshot, GPU).free, _of(snapshot, GPU).stranded) == (5, 4)


def test_room_beside_devices_elsewhere_is_not_stranded(snapshot: pb.Snapshot) -> None:
    """No node lists what their device class serves; cores and memory are enough."""
    del snapshot.pod_classes[0], snapshot.pods[0]
    train = snapshot.pod_classes[0]
    train.requests.extended["example.com/device"] = 1
    assert _of(snapshot, "cpu").stranded == 19000
    train.unsupported.append("device-class-resource example.com/device")
    assert _of(snapshot, "cpu").stranded == 4000  # of the node without GPUs
