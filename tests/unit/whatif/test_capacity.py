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
    made = pb.Snapshot(
        nodes=[
            _node("g1", 8000, 10, {GPU: 4}),
            _node("g2", 8000, 10, {GPU: 4}),
            _node("c", 4000, 10, {}),
        ],
        pod_classes=[
            pb.PodClass(id="web", requests=pb.Resources(cpu_milli=8000)),
            pb.PodClass(
                id="train", requests=pb.Resources(cpu_milli=1000, extended={GPU: 1})
            ),
        ],
    )
    made.pods.add(uid="1", class_id="web", node="g1")
    made.pods.add(uid="2", class_id="train", node="g2")
    made.pods.add(uid="3", class_id="train")
    return made


def _node(name: str, cpu_milli: int, pods: int, extended: dict[str, int]) -> pb.Node:
    room = pb.Resources(cpu_milli=cpu_milli, pods=pods, extended=extended)
    return pb.Node(name=name, allocatable=room)


def _of(snapshot: pb.Snapshot, resource: str) -> Room:
    return next(room for room in rooms(snapshot) if room.resource == resource)


def test_an_extended_resource_counts_like_cpu(snapshot: pb.Snapshot) -> None:
    """Used of all, free on how many nodes, in which block: pending pods use nothing."""
    assert _of(snapshot, GPU) == Room(
        GPU, capacity=8, free=7, stranded=4, nodes=2, free_nodes=2, largest_free=4
    )
    assert _of(snapshot, "cpu") == Room(
        "cpu", 20000, 11000, stranded=0, nodes=3, free_nodes=2, largest_free=7000
    )


def test_storage_counts_like_any_other_resource(snapshot: pb.Snapshot) -> None:
    """It has a field of its own in the contract, and no other claim."""
    snapshot.nodes[0].allocatable.ephemeral_storage_bytes = 10
    snapshot.pod_classes[0].requests.ephemeral_storage_bytes = 4

    found = _of(snapshot, "ephemeral-storage")

    assert (found.capacity, found.free, found.stranded) == (10, 6, 6)


def test_a_resource_that_is_short_itself_is_not_stranded(snapshot: pb.Snapshot) -> None:
    """One free GPU where all pods ask for two is short; the cores are not to blame."""
    snapshot.pod_classes[1].requests.extended[GPU] = 3

    assert (_of(snapshot, GPU).free, _of(snapshot, GPU).stranded) == (5, 4)


def test_a_node_that_takes_no_more_pods_strands_all(snapshot: pb.Snapshot) -> None:
    """Its slots are a resource as well."""
    snapshot.nodes[1].allocatable.pods = 1

    assert _of(snapshot, GPU).stranded == 7


def test_what_nobody_asks_for_is_idle_and_not_stranded(snapshot: pb.Snapshot) -> None:
    """No other resource is to blame for it."""
    snapshot.nodes[2].allocatable.extended["example.com/fpga"] = 2

    fpga = _of(snapshot, "example.com/fpga")

    assert (fpga.free, fpga.stranded, fpga.nodes) == (2, 0, 1)


def test_a_resource_that_no_node_has_is_left_out(snapshot: pb.Snapshot) -> None:
    """Nodes report zero of many; a row of zeros pushes others off the screen."""
    snapshot.nodes[0].allocatable.extended["hugepages-2Mi"] = 0

    assert [room.resource for room in rooms(snapshot)] == ["cpu", GPU]


def test_an_overcommitted_node_does_not_take_from_others(snapshot: pb.Snapshot) -> None:
    """A node that was shrunk has less than nothing, which is nothing."""
    snapshot.pods.add(uid="4", class_id="web", node="g1")

    assert _of(snapshot, "cpu").free == 11000


def test_room_for_pods_that_get_devices_elsewhere_is_not_stranded(
    snapshot: pb.Snapshot,
) -> None:
    """No node lists what their device class serves; cores and memory are enough."""
    del snapshot.pod_classes[0], snapshot.pods[0]
    train = snapshot.pod_classes[0]
    train.requests.extended["example.com/device"] = 1
    assert _of(snapshot, "cpu").stranded == 19000

    train.unsupported.append("device-class-resource example.com/device")

    assert _of(snapshot, "cpu").stranded == 4000  # of the node without GPUs


def test_what_all_nodes_have_together_may_be_more_than_64_bits_hold(
    snapshot: pb.Snapshot,
) -> None:
    """Each of them may have nearly as much."""
    for node in snapshot.nodes:
        node.allocatable.extended[GPU] = 2**63 - 1

    assert _of(snapshot, GPU).capacity == 3 * (2**63 - 1)
    assert _of(snapshot, GPU).free == 3 * (2**63 - 1) - 1
