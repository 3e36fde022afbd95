"""Devices that pods share or that overlap, as the search and the bounds see them."""

from device_fleets import add_partitioned, add_request, add_shared, decoded, hold
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb


def sharing(*holdings: tuple[int, str, int]) -> pb.Snapshot:
    """Return one node of two GPUs, of which pods hold shares, and one that waits for a half."""
    builder = SnapshotBuilder()
    message = builder.node("n0").node("bare").message
    add_shared(message, "two", ["a", "a"])
    message.nodes[0].device_layout = "two"
    half = add_request(message, "half", (1, {"a": {"share": 50}}))
    builder.pod_class("halves").device_requests.append(half)
    builder.pod("waits", of="halves")
    for device, uid, share in holdings:
        if uid and uid not in {pod.uid for pod in message.pods}:
            builder.pod(uid, of="halves", node="n0")
        hold(message, "n0", device, uid, {"share": share})
    return message


def test_what_a_pod_holds_that_a_plan_may_move_counts_as_free_and_all_else_as_taken() -> None:
    """Else no plan could move it, or give away what it keeps."""
    message = sharing((0, "moves", 50), (1, "", 30))

    packing = reduce_snapshot(decoded(message))

    bins = packing.problem.bins
    assert bins is not None
    assert bins.layout.tolist() == [0, -1]
    assert bins.left[0].tolist() == [100, 70]
    assert bins.held[0].tolist() == [0, 1]
    assert [packing.pod_uids[at] for at in range(2) if bins.home[at + 1] > bins.home[at]] == ["moves"]


def test_a_pod_with_other_devices_than_it_would_be_given_anew_stays() -> None:
    """A plan could not say what it gives back, nor what it takes elsewhere."""
    packing = reduce_snapshot(decoded(sharing((0, "odd", 40))))

    assert packing.pod_uids == ("waits",)
    assert [one.reason for one in packing.refusals] == ["device-held-otherwise"]
    assert packing.problem.bins is not None
    assert packing.problem.bins.left[0].tolist() == [60, 100]


def test_pods_come_only_where_devices_serve_them() -> None:
    """A node without any would have room for them."""
    packing = reduce_snapshot(decoded(sharing()))

    assert packing.kinds[0].eligible == (0,)


def test_partitions_that_overlap_take_of_the_same_counters() -> None:
    """A partition's own slot says only that it is given once."""
    builder = SnapshotBuilder().node("n0")
    message = builder.message
    add_partitioned(message, "mig")
    message.nodes[0].device_layout = "mig"
    builder.pod_class("large").device_requests.append(add_request(message, "3g", (1, {"3g": {"device": 1}})))
    builder.pod("p0", of="large")

    bins = reduce_snapshot(decoded(message)).problem.bins

    assert bins is not None
    first, end = bins.start[0, :2]
    taken = [{int(slot) for slot, _ in bins.take[bins.option[at, 1] : bins.option[at, 3]]} for at in range(first, end)]
    counters = set(range(int(bins.slot[0, -1]), bins.left.shape[1]))
    assert [len(one) for one in taken] == [5, 5]
    assert taken[0] | taken[1] >= counters
    assert not taken[0] & taken[1]


def test_devices_that_nobody_asks_for_change_nothing() -> None:
    """What holds for every cluster without them holds to the byte and to the nanosecond."""
    message = SnapshotBuilder().node("n0").pod("p0", cpu_milli=1).message
    add_shared(message, "two", ["a", "a"])
    message.nodes[0].device_layout = "two"
    hold(message, "n0", 0, "", {"share": 10})

    assert reduce_snapshot(decoded(message)).bins is None
