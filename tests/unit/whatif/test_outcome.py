"""Which rules keep pods where they are, what would help these, and what room nobody can use."""

from dataclasses import replace

import pytest
from amounts import GPU

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.answer import Helped, helped, still_pending
from stowage_testbed.whatif.findings import Proof, Room, StillPending
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.outcome import Outcome, rooms

NOTHING = Outcome()
PROOF, NO_HELP = Proof(True, "pods"), Helped()


@pytest.fixture
def snapshot() -> pb.Snapshot:
    """Return two nodes of 8; on the first two pods of 1 are kept, on the second one."""
    room = pb.Resources(memory_bytes=8, pods=10)
    made = pb.Snapshot(nodes=[pb.Node(name=name, allocatable=room) for name in "12"])
    for size in (1, 7, 9):
        made.pod_classes.add(
            id=f"of-{size}",
            namespace="ns",
            owner=pb.Owner(name=f"size-{size}"),
            requests=pb.Resources(memory_bytes=size),
        )
    for name, node, rule in (
        ("a", "1", "singleton"), ("b", "1", "singleton"), ("free", "1", ""),
        ("c", "2", "job"),
    ):  # fmt: skip
        pod = made.pods.add(uid=name, namespace="ns", name=name, class_id="of-1")
        pod.node, pod.movable, pod.immovable_reason = node, not rule, rule
    return made


def _waits(snapshot: pb.Snapshot, name: str, size: int, priority: int = 0) -> None:
    snapshot.pod_classes.add(
        id=name, namespace="ns", owner=pb.Owner(name=name), priority=priority, requests=pb.Resources(memory_bytes=size)
    )
    snapshot.pods.add(uid=name, namespace="ns", name=name, class_id=name)


def _left(
    snapshot: pb.Snapshot, found: Outcome = NOTHING, proof: Proof = PROOF, helped: Helped = NO_HELP
) -> dict[str, StillPending]:
    return {one.workload: one for one in still_pending(snapshot, proof, NOTHING, found, helped=helped)}


def test_pending_pods_get_the_rules_in_the_way(snapshot: pb.Snapshot) -> None:
    """The owner of the rule is the next to ask, if its room alone would do."""
    _waits(snapshot, "w", 7)
    left = _left(snapshot)["ns/w"]
    assert left.reason == "no plan places it: proved"
    assert left.rules == ("singleton",)
    assert left.changes == ("the rule singleton",)
    assert _left(snapshot, helped=Helped(everyone=True))["ns/w"].rules == ()
    assert _left(snapshot, helped=Helped(everyone=False))["ns/w"].rules
    # A pod that is leaving is in the way, and no value makes it go sooner.
    for pod in snapshot.pods:
        pod.immovable_reason = "terminating"
    left = _left(snapshot)["ns/w"]
    assert (left.rules, left.changes) == (("terminating",), ())


def test_a_rule_is_in_the_way_where_others_move_too(snapshot: pb.Snapshot) -> None:
    """Room for 6 is there if all went that may; but they have nowhere to go."""
    _waits(snapshot, "w", 6)
    would = Helped({"w": 1}, ("job",), ("the rule job", "the budget b, which allows 0"))
    left = _left(snapshot, helped=would)["ns/w"]
    assert left.rules == ("job",)
    assert left.changes == would.changes


def test_who_another_plan_could_place_is_told_so(snapshot: pb.Snapshot) -> None:
    """Room for one, two equal pods of two Deployments: either may get it."""
    for name, priority in (("a", 5), ("b", 5), ("c", 0), ("high", 9)):
        _waits(snapshot, name, 7, priority)

    left = _left(snapshot, replace(NOTHING, placed={"a": "1"}))

    verdicts = {name: one.verdict for name, one in left.items()}
    assert verdicts == {"ns/b": "beside", "ns/c": "beside", "ns/high": "proved"}
    assert "another may place these" in left["ns/b"].reason
    # A limit is neither the time nor the room.
    limits = ("with at most 1 move",)
    limited = _left(snapshot, proof=Proof(True, "pods", limits, limits))
    assert limited["ns/b"].verdict == "limited"


def test_what_keeps_a_pod_is_in_the_scheduler_s_words(snapshot: pb.Snapshot) -> None:
    """Of equal pods one was tried; one that is promised a node needs no change."""
    for name in ("w", "w2"):
        snapshot.pods.add(uid=name, namespace="ns", name=name, class_id="of-7")
    words = replace(NOTHING, reasons={"w2": "0/2 nodes are available"})
    (left,) = still_pending(snapshot, PROOF, words, NOTHING)
    assert (left.pods, left.now, left.after) == (2, "0/2 nodes are available", "")

    (left,) = still_pending(snapshot, PROOF, NOTHING, NOTHING, nominated={"w": "2", "w2": "2"})
    assert (left.verdict, "promised the node 2" in left.reason) == ("open", True)


BUDGET = {
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "ns"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1},
}
LABELS = {"one": {"app": "web"}, "two": {"app": "web"}, "kept": {}}
PODS = ({"metadata": {"name": uid, "uid": uid, "labels": labels}} for uid, labels in LABELS.items())
RULED = Inventory((), tuple(PODS), objects=(BUDGET,))


@pytest.fixture
def ruled() -> pb.Snapshot:
    made = pb.Snapshot(pod_classes=[pb.PodClass(id="c"), pb.PodClass(id="w")])
    for name, reason in (
        ("one", ""), ("two", ""), ("kept", "singleton"), ("agent", "daemonset"),
    ):  # fmt: skip
        pod = made.pods.add(uid=name, namespace="ns", name=name, class_id="c")
        pod.node, pod.movable, pod.immovable_reason = "n1", not reason, reason
    made.pods.add(uid="w", namespace="ns", name="w", class_id="w")
    made.disruption_budgets.add(namespace="ns", name="b", disruptions_allowed=1)
    return made


def _plan(*moved: str) -> pb.Plan:
    return pb.Plan(
        placements=[pb.Placement(pod_uid="w", node="n1")],
        moves=[pb.Move(pod_uid=uid, from_node="n1", to_node="n2") for uid in moved],
    )


def test_what_would_have_to_change_is_named(ruled: pb.Snapshot) -> None:
    """The rule, the budget and the limit that the plan without them breaks."""
    would = helped(ruled, _plan("one", "two", "kept"), NOTHING, RULED, {"maxMoves": 2})

    assert would.classes == {"w": 1}
    assert would.rules == ("singleton",)
    assert would.changes == ("the rule singleton", "the budget b, which allows 1", "the limit of 2 moves")
    # One pod of a budget that allows one may go as it is.
    assert helped(ruled, _plan("one"), NOTHING, RULED, {"maxMoves": 2}).changes == ()
    assert not helped(ruled, _plan("kept"), Outcome(placed={"w": "n2"}), RULED, {}).classes


@pytest.fixture
def gpus() -> pb.Snapshot:
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


def _of(gpus: pb.Snapshot, resource: str) -> Room:
    return next(room for room in rooms(gpus) if room.resource == resource)


def test_an_extended_resource_counts_like_cpu(gpus: pb.Snapshot) -> None:
    """Pending pods use nothing; a row for what no node has would push others off."""
    gpus.nodes[0].allocatable.extended["hugepages-2Mi"] = 0
    assert list(rooms(gpus)) == [
        Room("cpu", 20000, 11000, stranded=0, nodes=3, free_nodes=2, largest_free=7000),
        Room(GPU, 8, 7, stranded=4, nodes=2, free_nodes=2, largest_free=4),
    ]


def test_only_what_another_resource_blocks_is_stranded(gpus: pb.Snapshot) -> None:
    """What is short itself, or asked for by nobody, has nothing to blame."""
    gpus.nodes[2].allocatable.extended["example.com/fpga"] = 2
    gpus.nodes[2].allocatable.ephemeral_storage_bytes = 10
    fpga, disk = (_of(gpus, one) for one in ("example.com/fpga", "ephemeral-storage"))
    assert (fpga.free, fpga.stranded, fpga.nodes) == (2, 0, 1)
    assert (disk.free, disk.stranded, disk.nodes) == (10, 0, 1)

    gpus.pods.add(uid="4", class_id="web", node="g1")
    assert _of(gpus, "cpu").free == 11000, "an overcommitted node has nothing"

    gpus.nodes[1].allocatable.pods = 1
    assert _of(gpus, GPU).stranded == 7, "slots are a resource as well"

    gpus.nodes[1].allocatable.pods = 10
    gpus.pod_classes[1].requests.extended[GPU] = 3
    assert (_of(gpus, GPU).free, _of(gpus, GPU).stranded) == (5, 4)


def test_amounts_of_devices_by_requests_are_no_rows(gpus: pb.Snapshot) -> None:
    """Their names are ours, and say nothing to anybody; devices are counted by class."""
    gpus.nodes[0].allocatable.extended["devices.stowage.dev/h100"] = 2
    gpus.pod_classes[1].requests.extended["devices.stowage.dev/h100"] = 1
    assert [room.resource for room in rooms(gpus)] == ["cpu", GPU]
