"""Each explanation is of one case, and nothing explains a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from verified_clusters import a_node, a_plan, a_pod, affinity_to, asked_about, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import Instance, PlanJudgement
from tests.differential.agreement import Verifiers
from tests.differential.comparison import Comparison, compare
from tests.differential.explanations import Explanation, explain
from tests.differential.pods import claim, volume

Manifest = Mapping[str, Any]
ZONE = "topology.kubernetes.io/zone"
MOUNTED = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
EASTERN = volume("default", "data")
EASTERN["metadata"]["labels"] = {ZONE: "east"}
FIGURE_1 = figure_1()
NEEDED = a_pod("needed", 100, node="n1")


@dataclass(frozen=True)
class Case:
    """A cluster, and a plan of which only one side knows something."""

    pods: tuple[Manifest, ...]
    plan: Mapping[str, Any]
    nodes: tuple[Manifest, ...] = (a_node("n1"),)
    objects: tuple[Manifest, ...] = ()
    policy: pb.Policy = pb.POLICY_STRICT

    def compared(self, verifiers: Verifiers, *, claims: int = 0) -> Comparison:
        """Return what both sides say; the plan may claim to place some more."""
        instance = Instance("case", self.nodes, self.pods, self.objects)
        plan = a_plan(**self.plan)
        asked = asked_about(verifiers.scheduler, instance, plan, self.policy)
        if claims:
            plan.tiers[0].placed = plan.tiers[0].upper_bound = claims
        (comparison,) = compare(verifiers.scheduler, asked)
        return comparison


CASES = {
    # A good plan that claims to place one pod more.
    Explanation.CLAIMS: Case(
        FIGURE_1.pods,
        {"placed": {"three": "n1"}, "moved": {"one": ("n1", "n2")}},
        FIGURE_1.nodes,
    ),
    # An eviction for a pod of the same priority, and a gain above it.
    Explanation.OWN_KIND: Case(
        (
            a_pod("out", 900, node="n1", priority=1),
            a_pod("equal-1", 450, priority=1),
            a_pod("equal-2", 450, priority=1),
            a_pod("high", 900, priority=2),
        ),
        {
            "placed": {"equal-1": "n1", "equal-2": "n1", "high": "n2"},
            "evicted": {"out": "n1"},
        },
        (a_node("n1"), a_node("n2")),
    ),
    # An eviction for a pod that never preempts.
    Explanation.PREEMPTION_POLICY: Case(
        (
            a_pod("low", 900, node="n1"),
            a_pod("passive", 900, priority=1, preemptionPolicy="Never"),
        ),
        {"placed": {"passive": "n1"}, "evicted": {"low": "n1"}},
    ),
    # A pod that is sent to another zone than its volume's label names.
    Explanation.ZONES_OF_VOLUMES: Case(
        (a_pod("mounts", 100, volumes=MOUNTED),),
        {"placed": {"mounts": "n1"}},
        (a_node("n1", labels={ZONE: "west"}), a_node("n2", labels={ZONE: "east"})),
        (claim("default", "data", bound=True), EASTERN),
    ),
    # A pod that comes before the pod that it needs leaves.
    Explanation.ORDER: Case(
        (
            a_pod("needed", 500, node="n1"),
            a_pod("blocker", 900, node="n2"),
            a_pod("new", 500, affinity=affinity_to("needed")),
        ),
        {
            "placed": {"new": "n1"},
            "moved": {"needed": ("n1", "n2"), "blocker": ("n2", "n3")},
        },
        (a_node("n1"), a_node("n2"), a_node("n3")),
    ),
    # A pod whose required neighbour is evicted, though no room is needed.
    Explanation.SPARED: Case(
        (NEEDED, a_pod("new-1", 100, priority=1, affinity=affinity_to("needed"))),
        {"placed": {"new-1": "n1"}, "evicted": {"needed": "n1"}},
        policy=pb.POLICY_PAPER,
    ),
}


@pytest.mark.parametrize("name", Explanation)
def test_each_explanation_has_its_case(verifiers: Verifiers, name: Explanation) -> None:
    """Each is a difference that stays; one without a case would be a blanket."""
    claims = 4 if name is Explanation.CLAIMS else 0

    comparison = CASES[name].compared(verifiers, claims=claims)

    assert not comparison.agreed
    assert explain(verifiers.scheduler, comparison) == (name,)
    # That the checker forgot a rule, which the scheduler has, is explained by nothing.
    crowded = PlanJudgement(accepted=False, reason="over-capacity")
    mistaken = replace(comparison, scheduler=crowded, violations=())
    assert not mistaken.agreed
    assert explain(verifiers.scheduler, mistaken) == ()


def test_two_differences_at_once_are_told_as_two(verifiers: Verifiers) -> None:
    """Evicted for its own kind, and needed by another while it was spared."""
    comparison = replace(CASES[Explanation.SPARED], policy=pb.POLICY_STRICT).compared(
        verifiers
    )
    assert comparison.substance == {"policy", "pod-affinity"}
    both = (Explanation.OWN_KIND, Explanation.SPARED)
    assert explain(verifiers.scheduler, comparison) == both
