"""Which rules keep pods where they are, and whom they stand in the way of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amounts import GPU

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import (
    BESIDE,
    LIMITED,
    OPEN,
    PROVED,
    Kept,
    Proof,
    StillPending,
)
from stowage_testbed.whatif.kept import KeptPods, Workloads
from stowage_testbed.whatif.lifted import Helped
from stowage_testbed.whatif.outcome import Outcome

NOTHING = Outcome({}, (), (), {}, frozenset())
PROOF = Proof(True, "pods")
KEPT_ON_N1 = (("a", "singleton"), ("b", "singleton"), ("free", ""))


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
    for name, rule in KEPT_ON_N1:
        _running(made, name, "1", rule)
    _running(made, "c", "2", "job")
    return made


def _running(snapshot: pb.Snapshot, name: str, node: str, rule: str) -> None:
    snapshot.pods.add(
        uid=name,
        namespace="ns",
        name=name,
        node=node,
        class_id="of-1",
        movable=not rule,
        immovable_reason=rule,
    )


def test_each_rule_is_counted_with_one_of_its_pods(snapshot: pb.Snapshot) -> None:
    """A number alone cannot be looked up in the cluster."""
    assert tuple(KeptPods(snapshot).by_rule()) == (
        Kept("singleton", 2, "ns/a"),
        Kept("job", 1, "ns/c"),
    )


@pytest.mark.parametrize(("size", "rules"), [(6, ()), (7, ("singleton",)), (9, ())])
def test_a_rule_is_in_the_way_where_it_keeps_the_room_that_is_missing(
    snapshot: pb.Snapshot, size: int, rules: tuple[str, ...]
) -> None:
    """One pod of 1 leaves room for 7; nobody makes room for 9 on a node of 8."""
    asked = pb.Resources(memory_bytes=size)

    assert KeptPods(snapshot).in_the_way_of(asked) == rules


def test_room_is_room_of_all_that_is_asked_for(snapshot: pb.Snapshot) -> None:
    """A GPU that a pod which may not move holds is the room that is missing."""
    snapshot.nodes[0].allocatable.extended[GPU] = 1
    snapshot.pod_classes[0].requests.extended[GPU] = 1
    one, two = (pb.Resources(memory_bytes=1, extended={GPU: n}) for n in (1, 2))

    assert KeptPods(snapshot).in_the_way_of(one) == ("singleton",)
    assert KeptPods(snapshot).large_enough(one)
    assert not KeptPods(snapshot).large_enough(two)


def _waits(snapshot: pb.Snapshot, name: str, size: int, priority: int = 0) -> None:
    snapshot.pod_classes.add(
        id=name,
        namespace="ns",
        owner=pb.Owner(name=name),
        priority=priority,
        requests=pb.Resources(memory_bytes=size),
    )
    snapshot.pods.add(uid=name, namespace="ns", name=name, class_id=name)


def _left(
    snapshot: pb.Snapshot,
    found: Outcome = NOTHING,
    proof: Proof = PROOF,
    helped: Helped | None = None,
) -> dict[str, StillPending]:
    workloads = Workloads(snapshot, proof, {}, {})
    return {one.workload: one for one in workloads.left(NOTHING, found, helped)}


def test_pending_pods_get_the_rules_in_the_way(snapshot: pb.Snapshot) -> None:
    """The owner of the rule is the next to ask."""
    _waits(snapshot, "w", 7)

    left = _left(snapshot)["ns/w"]

    assert left.reason == "no plan places it: proved"
    assert left.rules == ("singleton",)
    assert left.changes == ("the rule singleton",)


def test_a_rule_whose_room_alone_would_not_do_is_not_in_the_way(
    snapshot: pb.Snapshot,
) -> None:
    """The pod that it keeps has nowhere else to go, with the rule or without it."""
    _waits(snapshot, "w", 7)

    assert _left(snapshot, helped=Helped(everyone=True))["ns/w"].rules == ()
    assert _left(snapshot, helped=Helped(everyone=False))["ns/w"].rules


def test_a_rule_is_in_the_way_also_where_others_would_have_to_move_too(
    snapshot: pb.Snapshot,
) -> None:
    """Room for 6 is there if all went that may; but they have nowhere to go."""
    _waits(snapshot, "w", 6)
    would = Helped({"w": 1}, ("job",), ("the rule job", "the budget b, which allows 0"))

    left = _left(snapshot, helped=would)["ns/w"]

    assert left.rules == ("job",)
    assert left.changes == would.changes


def test_who_could_be_placed_by_another_plan_is_not_told_that_none_does(
    snapshot: pb.Snapshot,
) -> None:
    """Room for one, two equal pods of two Deployments: either may get it."""
    for name, priority in (("a", 5), ("b", 5), ("c", 0), ("high", 9)):
        _waits(snapshot, name, 7, priority)

    left = _left(snapshot, replace(NOTHING, placed={"a": "1"}))

    verdicts = {name: one.verdict for name, one in left.items()}
    assert verdicts == {"ns/b": BESIDE, "ns/c": BESIDE, "ns/high": PROVED}
    assert "another may place these" in left["ns/b"].reason


def test_a_limit_that_is_in_the_way_is_named(snapshot: pb.Snapshot) -> None:
    """It is not the time, and not the room."""
    _waits(snapshot, "w", 7)
    limits = ("with at most 1 move",)

    proved = Proof(True, "pods", limits, limits)
    assert _left(snapshot, proof=proved)["ns/w"].verdict == LIMITED
    late = _left(snapshot, proof=Proof(False, "pods", limits, limits))["ns/w"]
    assert late.reason == "no plan with at most 1 move was found in time"
    assert late.changes[-1] == "the time limit"


def test_what_keeps_a_pod_is_told_in_the_scheduler_s_words(
    snapshot: pb.Snapshot,
) -> None:
    """Of equal pods one was tried; its reason is that of all."""
    for name in ("w", "w2"):
        snapshot.pods.add(uid=name, namespace="ns", name=name, class_id="of-7")
    words = replace(NOTHING, reasons={"w2": "0/2 nodes are available"})

    workloads = Workloads(snapshot, PROOF, {}, {})
    (left,) = workloads.left(words, NOTHING, None)

    assert (left.pods, left.now, left.after) == (2, "0/2 nodes are available", "")


def test_a_pod_that_is_promised_a_node_is_told_so(snapshot: pb.Snapshot) -> None:
    """Its victims are leaving; nothing has to change."""
    _waits(snapshot, "w", 7)

    workloads = Workloads(snapshot, PROOF, {}, {"w": "2"})
    (left,) = workloads.left(NOTHING, NOTHING, None)

    assert (left.verdict, "promised the node 2" in left.reason) == (OPEN, True)


def test_a_fact_is_nothing_that_could_be_changed(snapshot: pb.Snapshot) -> None:
    """A pod that is leaving is in the way, and no value makes it go sooner."""
    for pod in snapshot.pods:
        pod.immovable_reason = "terminating"
    _waits(snapshot, "w", 8)

    left = _left(snapshot)["ns/w"]

    assert (left.rules, left.changes) == (("terminating",), ())
