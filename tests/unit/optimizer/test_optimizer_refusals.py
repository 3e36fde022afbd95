"""What the strategy cannot express is refused by name, and its room counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import LONGEST_DETAIL, encode_refusals
from stowage_optimizer.model.snapshot import Refusal

Need = Callable[[pb.PodClass], object]

NEEDS: list[tuple[str, Need]] = [
    ("pod-affinity", lambda one: one.required_pod_affinity.add(topology_key="zone")),
    (
        "pod-anti-affinity",
        lambda one: one.required_pod_anti_affinity.add(
            topology_key="zone", label_selector=pb.LabelSelector()
        ),
    ),
    (
        "topology-spread",
        lambda one: one.topology_spread.add(
            max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
        ),
    ),
    ("unsupported", lambda one: one.unsupported.append("volumes")),
]
NAMES = [name for name, _ in NEEDS]
ZONE = {"zone": "z"}


def one_zone() -> pb.Snapshot:
    """Return figure 1 with both nodes in one zone."""
    snapshot = figure_1()
    for node in snapshot.nodes:
        node.labels.update(ZONE)
    return snapshot


@pytest.mark.parametrize(("reason", "give"), NEEDS, ids=NAMES)
def test_a_pending_pod_that_cannot_be_expressed_is_left_out(
    reason: str, give: Need
) -> None:
    """Placing it blindly would send it to a node that refuses it."""
    snapshot = one_zone()
    give(snapshot.pod_classes[2])

    answer = answer_to(snapshot)

    assert answer.solution.empty
    found = [(one.subject, one.reason) for one in answer.refusals]
    assert found == [("class class-pod-3", reason)]


@pytest.mark.parametrize(("reason", "give"), NEEDS, ids=NAMES)
def test_a_running_pod_that_cannot_be_expressed_stays_and_its_room_counts(
    reason: str, give: Need
) -> None:
    """It may not be moved, and no pod may take its place."""
    snapshot = one_zone()
    for pod_class in snapshot.pod_classes[:2]:
        give(pod_class)

    answer = answer_to(snapshot)

    assert answer.solution.empty
    assert {one.reason for one in answer.refusals} - {"kept-away"} == {reason}


@pytest.mark.parametrize(
    ("namespaces", "refused"),
    [([], True), (["default"], True), (["elsewhere"], False)],
    ids=["own", "named", "other"],
)
def test_who_a_running_pod_keeps_away_is_refused_too(
    namespaces: list[str], refused: bool
) -> None:
    """Anti-affinity works both ways."""
    builder = SnapshotBuilder().node("n", labels=ZONE).node("m", labels=ZONE)
    carrier = builder.pod_class("carrier")
    carrier.required_pod_anti_affinity.add(
        topology_key="zone",
        namespaces=namespaces,
        label_selector=pb.LabelSelector(match_labels={"app": "web"}),
    )
    builder.pod_class("web").labels["app"] = "web"
    builder.pod("c", of="carrier", node="n").pod("w", of="web").pod("other")

    answer = answer_to(builder.message)

    placed = {one.pod_uid for one in answer.plan.placements}
    assert placed == ({"other"} if refused else {"other", "w"})
    reasons = {(one.subject, one.reason) for one in answer.refusals}
    assert (("class web", "kept-away") in reasons) is refused


def test_a_pending_carrier_keeps_nobody_away() -> None:
    """Only pods that run can be in the way."""
    builder = SnapshotBuilder().node("n", labels=ZONE).node("m", labels=ZONE)
    carrier = builder.pod_class("carrier")
    carrier.required_pod_anti_affinity.add(
        topology_key="zone", label_selector=pb.LabelSelector()
    )
    builder.pod("c", of="carrier").pod("w")

    answer = answer_to(builder.message)

    assert [one.pod_uid for one in answer.plan.placements] == ["w"]


@pytest.mark.parametrize("allowed", [-1, 0, 1])
def test_a_spent_disruption_budget_holds_its_pods(allowed: int) -> None:
    """Evicting them would be answered 429; the plan would stop halfway."""
    snapshot = figure_1()
    snapshot.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=allowed,
    )

    answer = answer_to(snapshot)

    assert answer.solution.empty is (allowed < 1)


def test_preferences_are_no_reason_to_refuse() -> None:
    """ScheduleAnyway and PreferNoSchedule never forbid anything."""
    snapshot = figure_1()
    snapshot.pod_classes[2].topology_spread.add(
        max_skew=1, topology_key="zone", when_unsatisfiable="ScheduleAnyway"
    )
    for node in snapshot.nodes:
        node.taints.add(key="k", effect="PreferNoSchedule")

    assert answer_to(snapshot).plan.placements


def test_a_pod_that_may_not_move_stays(fixed_figure_1: pb.Snapshot) -> None:
    """DaemonSets, bare pods and the like: the snapshot says so."""
    assert answer_to(fixed_figure_1).solution.empty


@pytest.fixture
def fixed_figure_1() -> pb.Snapshot:
    """Return figure 1 with every running pod fixed."""
    snapshot = figure_1()
    for pod in snapshot.pods:
        pod.movable = False
    return snapshot


def test_a_refusal_fits_into_an_answer_whatever_it_names() -> None:
    """A namespace may have a thousand budgets, and each of its classes names them."""
    names = ", ".join("budget-" + "b" * 240 for _ in range(1000))

    (found,) = encode_refusals([Refusal("class c", "disruption-budget", names)])

    assert found.subject == "class c"
    assert found.detail.startswith("budget-b")
    assert len(found.detail) <= LONGEST_DETAIL
