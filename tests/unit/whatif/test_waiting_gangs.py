"""Which gangs wait, what places them, and what keeps the others."""

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import WaitingGang
from stowage_testbed.whatif.gangs import waiting_gangs
from stowage_testbed.whatif.outcome import Outcome

NOTHING = Outcome()


def gangs_of(**nodes: list[str]) -> pb.Snapshot:
    """Return a snapshot of gangs of two by their names, with the node of each pod, "" for one that waits."""
    made = pb.Snapshot()
    for name, of_pods in nodes.items():
        gang = f"ns/{name}"
        made.gangs.add(id=gang, min_count=2)
        made.pod_classes.add(id=name, namespace="ns", gang=gang)
        for number, node in enumerate(of_pods):
            made.pods.add(uid=f"{name}{number}", namespace="ns", name=f"{name}{number}", class_id=name, node=node)
    return made


def told(snapshot: pb.Snapshot, now: Outcome = NOTHING, found: Outcome | None = None) -> tuple[WaitingGang, ...]:
    return waiting_gangs(snapshot, now, found or now, {})


def test_a_gang_that_a_plan_places_is_told_with_the_moves_that_clear_its_nodes() -> None:
    """Who is asked to move pods wants to know for what; moves for others are not counted."""
    plan = pb.Plan(
        moves=[
            pb.Move(pod_uid="a", from_node="n1", to_node="n2"),
            # It makes room for the first one.
            pb.Move(pod_uid="b", from_node="n2", to_node="n3"),
            pb.Move(pod_uid="c", from_node="n8", to_node="n9"),
        ],
        evictions=[pb.Eviction(pod_uid="d", node="n1"), pb.Eviction(pod_uid="e", node="n7")],
    )
    found = Outcome(plan, {"g0": "n1", "g1": "n1"})

    assert told(gangs_of(g=["", ""]), NOTHING, found) == (WaitingGang("ns/g", 2, 2, 0, 0, 2, 2, 1),)


def test_a_gang_that_is_placed_as_things_are_needs_no_move() -> None:
    """What the scheduler does by itself is no finding of a plan."""
    now = Outcome(placed={"g0": "n1", "g1": "n2"})

    assert told(gangs_of(g=["", ""]), now) == (WaitingGang("ns/g", 2, 2, 0, 2, 2),)


def test_a_gang_with_fewer_pods_than_it_needs_is_said_to_lack_pods() -> None:
    """The scheduler does not try it, and writes nothing about it anywhere."""
    (gang,) = told(gangs_of(g=[""]))

    assert gang.reason == "only 1 of the 2 pods that it needs exist"


def test_a_gang_that_stays_is_told_with_what_keeps_it() -> None:
    """In the scheduler's words after the plan, else as things are, unless it was not judged."""
    snapshot, now = gangs_of(g=["", ""]), Outcome(reasons={"g0": "no room", "g1": "no room"})

    assert told(snapshot, now, NOTHING)[0].reason == "no room"
    assert told(snapshot, now, Outcome(reasons={"g1": "too late"}))[0].reason == "too late"
    assert waiting_gangs(snapshot, now, now, {"g": "its group has claims"})[0].reason == (
        "not judged: its group has claims"
    )


def test_a_gang_that_runs_does_not_wait_though_more_of_its_pods_do() -> None:
    """Pods beyond those that it needs wait one by one, as others do; one that is leaving does not count."""
    running, leaving = gangs_of(g=["n1", "n1", ""]), gangs_of(g=["n1", "n1", ""])
    leaving.pods[0].immovable_reason = "terminating"

    assert told(running) == ()
    assert told(leaving) == (WaitingGang("ns/g", 2, 2, 1, 1, 1),)


def test_a_group_of_which_one_pod_is_enough_is_no_gang() -> None:
    """Its pods wait one by one."""
    snapshot = gangs_of(g=["", ""])
    snapshot.gangs[0].min_count = 1

    assert told(snapshot) == ()
