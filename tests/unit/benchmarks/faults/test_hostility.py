"""What faults bring in: forgeries, odd objects, and an optimiser that lies."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.faults import forgeries, hostile_optimizer
from benchmarks.faults.cluster import KINDS
from benchmarks.faults.context import load_faults
from benchmarks.faults.forgeries import must_be_forbidden
from benchmarks.faults.hostile_optimizer import HONEST, LIES, RAW, Asked, reply
from benchmarks.faults.odd_objects import NOBODY, chosen_of, tame_budget, tame_node, tame_pod
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.label_selector import selects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.pod import requests_of

PODS = [tame_pod(pod, "odd", "ns") for pod in chosen_of("Pod")]
SNAPSHOT = pb.Snapshot(
    id="s",
    nodes=[pb.Node(name="n1"), pb.Node(name="n2")],
    pods=[pb.Pod(uid="runs", node="n1", movable=True), pb.Pod(uid="guarded", node="n2"), pb.Pod(uid="waits")],
)


@pytest.mark.parametrize(("what", "ways"), [("forge", forgeries.WAYS), ("lie", hostile_optimizer.WAYS)])
def test_every_fault_every_forgery_and_every_lie_is_tried(what: str, ways: Any) -> None:
    """One that nobody tries is never found out."""
    tried = [fault.settings for fault in load_faults()]
    assert {one.way for one in tried if one.do == what} == set(ways)
    assert {one.do for one in tried} == set(KINDS)


def test_only_a_missing_right_counts_as_forbidden() -> None:
    """A request that is merely wrong would be refused to everybody."""

    def refused_with(status: int) -> None:
        raise ApiRefusedError("patch a plan", status, "no")

    must_be_forbidden("abort a plan", lambda: refused_with(403))
    with pytest.raises(ApiRefusedError):
        must_be_forbidden("abort a plan", lambda: refused_with(422))
    with pytest.raises(StowageError, match="a tenant could abort a plan"):
        must_be_forbidden("abort a plan", lambda: None)


def fits_nowhere(spec: dict[str, Any]) -> bool:
    return bool(NOBODY.items() <= spec.get("nodeSelector", {}).items())


def test_an_odd_pod_takes_no_room_of_others_and_is_taken_by_every_cluster() -> None:
    """It would rightly be in the way of a plan, and the plan's failure show nothing."""
    for pod in PODS:
        spec, owners = pod["spec"], pod["metadata"].get("ownerReferences", ())
        ports = [port for one in spec["containers"] for port in one.get("ports", ())]
        if requests_of(pod).get("memory", 0) or "affinity" in spec or ports:
            assert fits_nowhere(spec)
        assert not spec.keys() & {"priority", "preemptionPolicy", "overhead"}
        assert all(owner["apiVersion"] == "example.com/v1" for owner in owners)


def test_odd_nodes_take_no_pod_and_odd_budgets_select_none() -> None:
    """Endless room would take what a plan is asked for, and a budget would be law."""
    for node in chosen_of("Node"):
        read_node(node)  # it can be read
        spec = tame_node(node, "odd-1")["spec"]
        assert spec["unschedulable"]
        assert spec["taints"]
    for budget in chosen_of("PodDisruptionBudget"):
        selector = tame_budget(budget, "odd", "ns", of_nobody=True)["spec"]["selector"]
        assert not selects(selector, {"stowage.dev/workload": "steady"})


def truth() -> Iterator[pb.SolveUpdate]:
    plan = pb.Plan(snapshot_id="s")
    plan.placements.add(pod_uid="waits", node="n2")
    plan.moves.add(pod_uid="runs", from_node="n1", to_node="n2")
    yield pb.SolveUpdate(plan=plan)
    yield pb.SolveUpdate(plan=plan, last=True)


def answers(way: str, past: list[bytes] | None = None) -> list[bytes]:
    """Return all that is said before the caller hangs up, at the third look."""
    waits = iter([False] * 2)
    asked = Asked(pb.SolveRequest(snapshot=SNAPSHOT), truth(), lambda _: next(waits, True))
    return list(reply(way, asked, [] if past is None else past))


def last_of(way: str) -> pb.SolveUpdate:
    return pb.SolveUpdate.FromString(answers(way)[-1])


def test_the_truth_is_passed_on_and_the_past_is_reported_again() -> None:
    """Between two lies the scheduler goes on; a plan that was right once is wrong."""
    past = list[bytes]()
    first = answers(HONEST, past)[-1]

    assert pb.SolveUpdate.FromString(first) == list(truth())[-1]
    assert answers("old-plan", past) == [first]


@pytest.mark.parametrize("way", LIES)
def test_a_lie_differs_from_the_truth_and_is_still_a_plan(way: str) -> None:
    """A lie that changes nothing would be carried out, and show nothing."""
    said = last_of(way)

    assert said.last
    assert said.plan != list(truth())[-1].plan


def test_a_protected_pod_is_the_victim() -> None:
    """The scheduler must know by itself who is protected."""
    (victim,) = last_of("protected-victim").plan.evictions

    assert (victim.pod_uid, victim.node) == ("guarded", "n2")


@pytest.mark.parametrize("way", RAW)
def test_what_is_no_answer_never_ends_in_a_plan(way: str) -> None:
    """Silence, drops, noise and floods end by the scheduler's own limits."""
    said = answers(way)

    if way == "bad-bytes":
        with pytest.raises(Exception, match="parsing"):
            pb.SolveUpdate.FromString(said[0])
        return
    updates = [pb.SolveUpdate.FromString(one) for one in said]
    assert not any(one.last and one.HasField("plan") for one in updates)
