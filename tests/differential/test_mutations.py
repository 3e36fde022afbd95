"""The two verifiers: which refusals are equivalent, and that mutations are some."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import get_args

import pytest
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index
from stowage_optimizer.verify.violation import RuleName, Violation
from stowage_testbed.simulate import PlanJudgement
from tests.differential.comparison import (
    CLAIM_RULES,
    NAME_RULES,
    PLUGINS,
    REASONS,
    equivalent,
)
from tests.differential.mutations import (
    CLAIMS,
    MUTATIONS,
    Mutation,
    MutationContext,
)
from tests.differential.plans import recount_tiers

REFUSALS = Path(__file__).parents[2] / "scheduler" / "plan" / "plan.go"
NEVER_SEEN = {"too-large", "node-changed"}
"""Random plans are small, and a cluster that is verified does not change."""

OF_REQUESTS = {"snapshot", "limits", "certificate"}
"""Rules about what no question has."""


def test_every_reason_has_its_rules_and_every_rule_its_reasons() -> None:
    """A new one must be compared with something, or not be read by the scheduler."""
    reasons = set(re.findall(r'Reason = "([a-z-]+)"', REFUSALS.read_text("utf-8")))
    covered = set().union(*REASONS.values(), *PLUGINS.values())

    assert reasons == set(REASONS) | NEVER_SEEN
    assert covered == set(get_args(RuleName)) - CLAIM_RULES - OF_REQUESTS
    assert covered >= NAME_RULES


def rehearsal(
    plugins: tuple[str, ...] = ("Custom",), pods: tuple[str, ...] = ()
) -> PlanJudgement:
    return PlanJudgement(False, "rehearsal", plugins, pods)


OVER_CAPACITY = PlanJudgement(False, "over-capacity")


@pytest.mark.parametrize(
    ("refusal", "rules", "same"),
    [
        (OVER_CAPACITY, {"capacity", "worth"}, True),
        (OVER_CAPACITY, {"worth"}, False),
        (OVER_CAPACITY, {"unknown-pod"}, True),
        (rehearsal(("NodePorts",)), {"host-ports"}, True),
        (rehearsal(("NodePorts",)), {"eligibility"}, False),
        (rehearsal(("Custom", "NodePorts")), {"host-ports"}, True),
        (rehearsal(), {"host-ports"}, False),
        (rehearsal(pods=("pod",)), {"host-ports"}, True),
        (rehearsal(pods=("other",)), {"host-ports"}, False),
        (rehearsal(pods=("pod",)), {"immovable"}, False),
        (PlanJudgement(False, "stale"), {"capacity"}, False),
    ],
)
def test_reasons_are_equivalent_if_one_of_the_rules_says_the_same(
    refusal: PlanJudgement, rules: set[RuleName], *, same: bool
) -> None:
    """Two refusals for different reasons are two mistakes, not an agreement."""
    violations = [Violation(rule, "pod", "") for rule in rules]

    assert equivalent(refusal, violations) == same


SEEDS = range(8)


def busy_context(seed: int) -> MutationContext:
    """Return a plan with steps of every kind, and other pods that it leaves alone."""
    builder = SnapshotBuilder().node("n1").node("n2").node("n3")
    builder.pod("moved", node="n1").pod("gone", node="n1").pod("placed")
    builder.pod("other", priority=1).pod("fixed", node="n2", movable=False)
    builder.pod("kept-1", node="n2").pod("kept-2", node="n3").pod("late")
    builder.message.disruption_budgets.add(
        namespace="default", name="all", selector=pb.LabelSelector()
    )
    plan = pb.Plan(snapshot_id=builder.message.id)
    plan.placements.add(pod_uid="placed", node="n1")
    plan.placements.add(pod_uid="other", node="n2")
    plan.moves.add(pod_uid="moved", from_node="n1", to_node="n3")
    plan.evictions.add(pod_uid="gone", node="n1")
    recount_tiers(plan, builder.message, Index(builder.message))
    return context_of(builder, plan, seed)


def context_of(builder: SnapshotBuilder, plan: pb.Plan, seed: int) -> MutationContext:
    index = Index(builder.message)
    return MutationContext(Random(seed), index, builder.message, plan)  # noqa: S311


def name(mutation: Callable[..., object]) -> str:
    return mutation.__name__


def is_changed(mutation: Mutation, context: MutationContext) -> tuple[bool, bool]:
    """Return whether a mutation says that it has changed the plan, and whether so."""
    before = context.plan.SerializeToString(deterministic=True)
    said = mutation(context)
    return said, context.plan.SerializeToString(deterministic=True) != before


@pytest.mark.parametrize("mutation", [*MUTATIONS, *CLAIMS], ids=name)
def test_a_mutation_changes_the_plan_and_says_so(mutation: Mutation) -> None:
    """One that changes nothing would count good plans as mutated ones."""
    found = [is_changed(mutation, busy_context(seed)) for seed in SEEDS]

    assert all(said for said, _ in found)
    assert sum(changed for _, changed in found) > len(SEEDS) // 2


@pytest.mark.parametrize("mutation", MUTATIONS, ids=name)
def test_where_there_is_nothing_to_change_it_says_so(mutation: Mutation) -> None:
    """Then another one is tried."""
    builder = SnapshotBuilder().node("n1")
    empty = context_of(builder, pb.Plan(snapshot_id=builder.message.id), 1)

    said, changed = is_changed(mutation, empty)

    assert said == changed
