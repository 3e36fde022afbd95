"""Each explanation is of one case, and nothing explains a mistake."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from verified_clusters import a_node, a_plan, a_pod, affinity_to, asked_about, figure_1

from benchmarks.agreement.comparison import Comparison, compare
from benchmarks.agreement.differential import Verifiers
from benchmarks.agreement.explanations import CHANGES, Explanation, explain
from benchmarks.agreement.pods import claim, volume
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import Instance, PlanJudgement


def compared(
    verifiers: Verifiers,
    instance: Instance,
    plan: pb.Plan,
    policy: pb.Policy = pb.POLICY_STRICT,
) -> Comparison:
    (comparison,) = compare(
        verifiers.scheduler, asked_about(verifiers.scheduler, instance, plan, policy)
    )
    return comparison


def claims(verifiers: Verifiers) -> Comparison:
    """Return a good plan that claims to place one pod more."""
    plan = a_plan(placed={"three": "n1"}, moved={"one": ("n1", "n2")})
    asked = asked_about(verifiers.scheduler, figure_1(), plan)
    plan.tiers[0].placed = plan.tiers[0].upper_bound = 4
    (comparison,) = compare(verifiers.scheduler, asked)
    return comparison


def own_kind(verifiers: Verifiers) -> Comparison:
    """Return an eviction for a pod of the same priority, and a gain above it."""
    pods = (
        a_pod("out", 900, node="n1", priority=1),
        a_pod("equal-1", 450, priority=1),
        a_pod("equal-2", 450, priority=1),
        a_pod("high", 900, priority=2),
    )
    instance = Instance("own-kind", (a_node("n1"), a_node("n2")), pods)
    placed = {"equal-1": "n1", "equal-2": "n1", "high": "n2"}
    return compared(verifiers, instance, a_plan(placed=placed, evicted={"out": "n1"}))


def preemption_policy(verifiers: Verifiers) -> Comparison:
    """Return an eviction for a pod that never preempts."""
    pods = (
        a_pod("low", 900, node="n1"),
        a_pod("passive", 900, priority=1, preemptionPolicy="Never"),
    )
    instance = Instance("passive", (a_node("n1"),), pods)
    plan = a_plan(placed={"passive": "n1"}, evicted={"low": "n1"})
    return compared(verifiers, instance, plan)


def zones_of_volumes(verifiers: Verifiers) -> Comparison:
    """Return a pod that is sent to another zone than its volume's label names."""
    zone = "topology.kubernetes.io/zone"
    mounted: list[dict[str, Any]] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    ]
    labelled = volume("default", "data")
    labelled["metadata"]["labels"] = {zone: "east"}
    instance = Instance(
        "zones",
        (a_node("n1", labels={zone: "west"}), a_node("n2", labels={zone: "east"})),
        (a_pod("mounts", 100, volumes=mounted),),
        (claim("default", "data", bound=True), labelled),
    )
    return compared(verifiers, instance, a_plan(placed={"mounts": "n1"}))


def order(verifiers: Verifiers) -> Comparison:
    """Return a pod that comes before the pod that it needs leaves."""
    pods = (
        a_pod("needed", 500, node="n1"),
        a_pod("blocker", 900, node="n2"),
        a_pod("new", 500, affinity=affinity_to("needed")),
    )
    nodes = (a_node("n1"), a_node("n2"), a_node("n3"))
    moved = {"needed": ("n1", "n2"), "blocker": ("n2", "n3")}
    plan = a_plan(placed={"new": "n1"}, moved=moved)
    return compared(verifiers, Instance("order", nodes, pods), plan)


def spared(verifiers: Verifiers) -> Comparison:
    """Return a pod whose required neighbour is evicted, though no room is needed."""
    pods = (
        a_pod("needed", 100, node="n1"),
        a_pod("new-1", 100, priority=1, affinity=affinity_to("needed")),
    )
    plan = a_plan(placed={"new-1": "n1"}, evicted={"needed": "n1"})
    instance = Instance("spared", (a_node("n1"),), pods)
    return compared(verifiers, instance, plan, pb.POLICY_PAPER)


CASES = {
    Explanation.CLAIMS: claims,
    Explanation.OWN_KIND: own_kind,
    Explanation.PREEMPTION_POLICY: preemption_policy,
    Explanation.ZONES_OF_VOLUMES: zones_of_volumes,
    Explanation.ORDER: order,
    Explanation.SPARED: spared,
}


def test_every_explanation_has_its_case() -> None:
    """An explanation without one would be a blanket."""
    assert set(CASES) == set(Explanation) == {Explanation.CLAIMS, *CHANGES}


@pytest.mark.parametrize("name", CASES)
def test_what_only_one_side_knows_explains_why_they_differ(
    verifiers: Verifiers, name: Explanation
) -> None:
    """Each of these is a difference that stays, with its reason."""
    comparison = CASES[name](verifiers)

    assert not comparison.agreed
    assert explain(verifiers.scheduler, comparison) == (name,)


def test_two_differences_at_once_are_told_as_two(verifiers: Verifiers) -> None:
    """Evicted for its own kind, and needed by another while it was spared."""
    pods = (
        a_pod("needed", 100, node="n1"),
        a_pod("new", 100, priority=1, affinity=affinity_to("needed")),
    )
    plan = a_plan(placed={"new": "n1"}, evicted={"needed": "n1"})
    instance = Instance("both", (a_node("n1"),), pods)

    comparison = compared(verifiers, instance, plan)

    assert comparison.substance == {"policy", "pod-affinity"}
    both = (Explanation.OWN_KIND, Explanation.SPARED)
    assert explain(verifiers.scheduler, comparison) == both


@pytest.mark.parametrize("name", CASES)
def test_nothing_explains_a_rule_that_the_checker_forgot(
    verifiers: Verifiers, name: Explanation
) -> None:
    """The scheduler says there is no room, the checker says nothing."""
    crowded = PlanJudgement(accepted=False, reason="over-capacity")

    mistaken = replace(CASES[name](verifiers), scheduler=crowded, violations=())

    assert not mistaken.agreed
    assert explain(verifiers.scheduler, mistaken) == ()
