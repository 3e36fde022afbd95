"""Whom rules, budgets and limits keep from a place."""

from __future__ import annotations

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.lifted import Bounds, helped, lifted
from stowage_testbed.whatif.outcome import Outcome

NOTHING = Outcome({}, (), (), {}, frozenset())
BUDGET = {
    "metadata": {"name": "b", "namespace": "ns"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1},
}
LABELS = {"one": {"app": "web"}, "two": {"app": "web"}, "kept": {}}


@pytest.fixture
def snapshot() -> pb.Snapshot:
    made = pb.Snapshot(pod_classes=[pb.PodClass(id="c"), pb.PodClass(id="w")])
    for name, reason in (
        ("one", ""), ("two", ""), ("kept", "singleton"), ("agent", "daemonset"),
    ):  # fmt: skip
        made.pods.add(
            uid=name,
            namespace="ns",
            name=name,
            class_id="c",
            node="n1",
            movable=not reason,
            immovable_reason=reason,
        )
    made.pods.add(uid="w", namespace="ns", name="w", class_id="w")
    made.disruption_budgets.add(namespace="ns", name="b", disruptions_allowed=1)
    return made


def _plan(*moved: str) -> pb.Plan:
    return pb.Plan(
        placements=[pb.Placement(pod_uid="w", node="n1")],
        moves=[pb.Move(pod_uid=uid, from_node="n1", to_node="n2") for uid in moved],
    )


def test_rules_and_budgets_are_lifted_facts_are_not(snapshot: pb.Snapshot) -> None:
    """No value makes the pod of a DaemonSet run elsewhere."""
    free = lifted(snapshot)

    assert free is not None
    assert {pod.name for pod in free.pods if pod.movable} == {"one", "two", "kept"}
    assert not free.disruption_budgets
    # Among equal plans, the one that keeps the rules.
    assert {pod.name for pod in free.pods if pod.deletion_cost} == {"kept"}
    assert not snapshot.pods[2].movable


def test_without_rules_and_budgets_there_is_nothing_to_ask() -> None:
    """It would be the same question again."""
    assert lifted(pb.Snapshot(pods=[pb.Pod(uid="a", node="n", movable=True)])) is None


def test_what_would_have_to_change_is_named(snapshot: pb.Snapshot) -> None:
    """The rule, the budget and the limit that the plan without them breaks."""
    bounds = Bounds({"maxMoves": 2}, [BUDGET], LABELS)

    would = helped(snapshot, _plan("one", "two", "kept"), NOTHING, bounds)

    assert would.classes == {"w": 1}
    assert would.rules == ("singleton",)
    assert would.changes == (
        "the rule singleton",
        "the budget b, which allows 1",
        "the limit of 2 moves",
    )


def test_what_is_kept_needs_no_change(snapshot: pb.Snapshot) -> None:
    """One pod of a budget that allows one may go as it is."""
    bounds = Bounds({"maxMoves": 2}, [BUDGET], LABELS)

    assert helped(snapshot, _plan("one"), NOTHING, bounds).changes == ()


def test_who_has_a_place_anyway_is_not_helped(snapshot: pb.Snapshot) -> None:
    """The rules are in nobody's way."""
    found = Outcome({"w": "n2"}, (), (), {}, frozenset())

    assert not helped(snapshot, _plan("kept"), found, Bounds({}, [], {})).classes
