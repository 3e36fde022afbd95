"""Plans that name what is not there, or the same pod again, are checked like any other.

The plan comes from a process that is not trusted, and rules that are tried one by one
have no other rule before them. An error in place of a verdict ends the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.vetting import PlanGate
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.checker import NAMES, RULES, check_snapshot
from stowage_optimizer.verify.movability import Disruptable
from stowage_optimizer.verify.worth import count_tiers


def disruptable(case: Case) -> list[str]:
    return [uid for uid in case.pods if uid in Disruptable(case)]


def free(case: Case) -> dict[str, list[int]]:
    return case.free


LOOKS: tuple[Callable[[Case], Iterable[object]], ...] = (
    *NAMES,
    *RULES,
    check_snapshot,
    count_tiers,
    disruptable,
    free,
)
"""Every rule and every account of a plan."""

Spoil = Callable[[pb.Plan], None]


def a_snapshot() -> pb.Snapshot:
    """Return pods that give every rule something to look at."""
    builder = SnapshotBuilder().node("a", cpu_milli=2, labels={"zone": "a"})
    builder.node("b", cpu_milli=4, labels={"zone": "b"})
    low = builder.pod_class("low", cpu_milli=2)
    low.labels["app"] = low.owner.uid = "low"
    low.host_ports.add(port=80)
    selects = pb.LabelSelector(match_labels={"app": "low"})
    low.required_pod_anti_affinity.add(topology_key="zone", label_selector=selects)
    spread = builder.pod_class("spread", cpu_milli=1)
    spread.topology_spread.add(
        topology_key="zone", max_skew=1, label_selector=pb.LabelSelector()
    )
    builder.pod("low-a", of="low", node="a").pod("low-b", of="low", node="b")
    builder.pod("quiet", cpu_milli=1, node="b").pod("waits", of="spread")
    builder.pod("high", cpu_milli=2, priority=1)
    builder.message.disruption_budgets.add(
        namespace="default", name="low", selector=selects, disruptions_allowed=1
    )
    return builder.message


def a_plan() -> pb.Plan:
    """Return a plan for `a_snapshot` with a step of each kind."""
    return pb.Plan(
        snapshot_id="snapshot-1",
        placements=[
            pb.Placement(pod_uid="high", node="a"),
            pb.Placement(pod_uid="waits", node="b"),
        ],
        moves=[pb.Move(pod_uid="quiet", from_node="b", to_node="a")],
        evictions=[pb.Eviction(pod_uid="low-a", node="a")],
        gain_by_moves=[pb.GainPoint(moves=1, placed=4)],
        nodes_in_use=pb.NodesInUse(before=2, after=2),
    )


def _places_nobody(plan: pb.Plan) -> None:
    plan.placements.add(pod_uid="nobody", node="a")
    plan.placements.add(pod_uid="", node="a")


def _moves_nobody(plan: pb.Plan) -> None:
    plan.moves.add(pod_uid="nobody", from_node="a", to_node="b")
    plan.moves.add(pod_uid="", from_node="a", to_node="b")


def _evicts_nobody(plan: pb.Plan) -> None:
    plan.evictions.add(pod_uid="nobody", node="a")
    plan.evictions.add(pod_uid="", node="a")


def _places_nowhere(plan: pb.Plan) -> None:
    plan.placements[0].node, plan.placements[1].node = "nowhere", ""


def _moves_nowhere(plan: pb.Plan) -> None:
    plan.moves[0].to_node = "nowhere"
    plan.moves.add(pod_uid="low-b", from_node="nowhere", to_node="")


def _evicts_from_nowhere(plan: pb.Plan) -> None:
    plan.evictions[0].node = "nowhere"


def _names_pods_again(plan: pb.Plan) -> None:
    plan.placements.add(pod_uid="high", node="b")
    plan.placements.add(pod_uid="low-a", node="b")
    plan.moves.add(pod_uid="low-a", from_node="a", to_node="b")
    plan.moves.add(pod_uid="waits", from_node="b", to_node="a")
    plan.evictions.add(pod_uid="high", node="a")
    plan.evictions.add(pod_uid="low-a", node="a")


ODD: dict[Spoil, str] = {
    _places_nobody: "unknown-pod",
    _moves_nobody: "unknown-pod",
    _evicts_nobody: "unknown-pod",
    _places_nowhere: "unknown-node",
    _moves_nowhere: "unknown-node",
    _evicts_from_nowhere: "unknown-node",
    _names_pods_again: "duplicate",
}
"""What is odd about the names of a plan, and the rule that tells."""

each_oddity = pytest.mark.parametrize("spoil", ODD, ids=lambda one: one.__name__[1:])


@pytest.mark.parametrize(
    "objective", [pb.OBJECTIVE_PLACE, pb.OBJECTIVE_CONSOLIDATE], ids=pb.Objective.Name
)
@each_oddity
@pytest.mark.parametrize("look", LOOKS, ids=lambda one: one.__name__)
def test_no_rule_and_no_account_stumbles_over_a_name(
    look: Callable[[Case], Iterable[object]], spoil: Spoil, objective: pb.Objective
) -> None:
    """The rule about names says what is wrong; the others look at the rest."""
    asked = pb.SolveOptions(objective=objective, max_disruptions_per_owner=9)
    plan = a_plan()
    spoil(plan)

    list(look(Case(a_snapshot(), plan, pb.POLICY_STRICT, asked)))


@each_oddity
def test_odd_names_are_refused_by_the_rule_about_them(spoil: Spoil) -> None:
    """Nothing else that is wrong means anything while names are not what they seem."""
    plan = a_plan()
    spoil(plan)

    found = verify_plan(a_snapshot(), plan, pb.POLICY_STRICT)

    assert {violation.rule for violation in found} == {ODD[spoil]}


@each_oddity
def test_the_gate_withholds_a_plan_with_odd_names(spoil: Spoil) -> None:
    """The caller gets the broken rule, not an error of the service."""
    request = pb.SolveRequest(snapshot=a_snapshot())
    request.options.policy = pb.POLICY_STRICT
    update = pb.SolveUpdate(plan=a_plan(), last=True)
    spoil(update.plan)

    answer = PlanGate(request, Metrics()).check(update, lambda: False)

    assert answer is not None
    assert answer.end_reason == pb.END_REASON_ERROR
    assert not answer.HasField("plan")
    assert ODD[spoil] in answer.message


@pytest.mark.parametrize("spoil", [_places_nobody, _moves_nobody, _evicts_nobody])
def test_pods_that_are_unknown_count_nowhere(spoil: Spoil) -> None:
    """Counts are of the snapshot's pods, whatever else the plan names."""
    plan = a_plan()
    spoil(plan)

    counted = count_tiers(Case(a_snapshot(), plan, pb.POLICY_STRICT))

    assert counted == count_tiers(Case(a_snapshot(), a_plan(), pb.POLICY_STRICT))
    assert [one[:3] for one in counted] == [(1, 0, 1), (0, 3, 4)]
