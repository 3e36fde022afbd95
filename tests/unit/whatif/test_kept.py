"""Which rules keep pods where they are, in whose way, and what would help these."""

from __future__ import annotations

from dataclasses import replace

import pytest
from amounts import GPU

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import BESIDE, LIMITED, OPEN, PROVED, Kept, Proof, StillPending
from stowage_testbed.whatif.kept import KeptPods, Workloads
from stowage_testbed.whatif.lifted import Bounds, Helped, helped, lifted
from stowage_testbed.whatif.outcome import Outcome

NOTHING = Outcome({}, (), (), {}, frozenset())
PROOF = Proof(True, "pods")


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


def test_a_rule_is_in_the_way_where_it_keeps_the_room_that_is_missing(snapshot: pb.Snapshot) -> None:
    """One pod of 1 leaves room for 7; nobody makes room for 9 on a node of 8."""
    kept = KeptPods(snapshot)
    asked = [pb.Resources(memory_bytes=size) for size in (6, 7, 9)]
    assert [kept.in_the_way_of(one) for one in asked] == [(), ("singleton",), ()]
    # A number alone cannot be looked up in the cluster.
    rules = (Kept("singleton", 2, "ns/a"), Kept("job", 1, "ns/c"))
    assert tuple(kept.by_rule()) == rules

    # Room is room of all that is asked for: a GPU may be what is missing.
    snapshot.nodes[0].allocatable.extended[GPU] = 1
    snapshot.pod_classes[0].requests.extended[GPU] = 1
    one, two = (pb.Resources(memory_bytes=1, extended={GPU: n}) for n in (1, 2))
    kept = KeptPods(snapshot)
    assert kept.in_the_way_of(one) == ("singleton",)
    assert (kept.large_enough(one), kept.large_enough(two)) == (True, False)


def _waits(snapshot: pb.Snapshot, name: str, size: int, priority: int = 0) -> None:
    snapshot.pod_classes.add(
        id=name, namespace="ns", owner=pb.Owner(name=name), priority=priority, requests=pb.Resources(memory_bytes=size)
    )
    snapshot.pods.add(uid=name, namespace="ns", name=name, class_id=name)


def _left(
    snapshot: pb.Snapshot, found: Outcome = NOTHING, proof: Proof = PROOF, helped: Helped | None = None
) -> dict[str, StillPending]:
    workloads = Workloads(snapshot, proof, {}, {})
    return {one.workload: one for one in workloads.left(NOTHING, found, helped)}


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
    assert verdicts == {"ns/b": BESIDE, "ns/c": BESIDE, "ns/high": PROVED}
    assert "another may place these" in left["ns/b"].reason
    # A limit is neither the time nor the room.
    limits = ("with at most 1 move",)
    limited = _left(snapshot, proof=Proof(True, "pods", limits, limits))
    assert limited["ns/b"].verdict == LIMITED


def test_what_keeps_a_pod_is_in_the_scheduler_s_words(snapshot: pb.Snapshot) -> None:
    """Of equal pods one was tried; one that is promised a node needs no change."""
    for name in ("w", "w2"):
        snapshot.pods.add(uid=name, namespace="ns", name=name, class_id="of-7")
    words = replace(NOTHING, reasons={"w2": "0/2 nodes are available"})
    (left,) = Workloads(snapshot, PROOF, {}, {}).left(words, NOTHING, None)
    assert (left.pods, left.now, left.after) == (2, "0/2 nodes are available", "")

    promised = Workloads(snapshot, PROOF, {}, {"w": "2", "w2": "2"})
    (left,) = promised.left(NOTHING, NOTHING, None)
    assert (left.verdict, "promised the node 2" in left.reason) == (OPEN, True)


BUDGET = {
    "metadata": {"name": "b", "namespace": "ns"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1},
}
LABELS = {"one": {"app": "web"}, "two": {"app": "web"}, "kept": {}}


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


def test_rules_and_budgets_are_lifted_facts_are_not(ruled: pb.Snapshot) -> None:
    """No value makes a DaemonSet's pod run elsewhere; nothing lifted is no question."""
    free = lifted(ruled)

    assert free is not None
    assert {pod.name for pod in free.pods if pod.movable} == {"one", "two", "kept"}
    assert not free.disruption_budgets
    # Among equal plans, the one that keeps the rules.
    assert {pod.name for pod in free.pods if pod.deletion_cost} == {"kept"}
    assert not ruled.pods[2].movable
    assert lifted(pb.Snapshot(pods=[pb.Pod(uid="a", node="n", movable=True)])) is None


def test_what_would_have_to_change_is_named(ruled: pb.Snapshot) -> None:
    """The rule, the budget and the limit that the plan without them breaks."""
    bounds = Bounds({"maxMoves": 2}, [BUDGET], LABELS)

    would = helped(ruled, _plan("one", "two", "kept"), NOTHING, bounds)

    assert would.classes == {"w": 1}
    assert would.rules == ("singleton",)
    assert would.changes == ("the rule singleton", "the budget b, which allows 1", "the limit of 2 moves")
    # One pod of a budget that allows one may go as it is.
    assert helped(ruled, _plan("one"), NOTHING, bounds).changes == ()
    anyway = Outcome({"w": "n2"}, (), (), {}, frozenset())
    assert not helped(ruled, _plan("kept"), anyway, Bounds({}, [], {})).classes
