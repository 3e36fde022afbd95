"""Every mutation changes the plan."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from snapshot_builder import SnapshotBuilder

from benchmarks.agreement.mutations import (
    CLAIMS,
    MUTATIONS,
    Mutation,
    MutationContext,
)
from benchmarks.agreement.plans import recount_tiers
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index

SEEDS = range(8)


def busy_context(seed: int) -> MutationContext:
    """Return a plan with steps of every kind, and other pods that it leaves alone."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2", "n3"):
        builder.node(name)
    builder.pod("moved", node="n1").pod("gone", node="n1").pod("placed")
    builder.pod("other", priority=1).pod("fixed", node="n2", movable=False)
    builder.pod("kept-1", node="n2").pod("kept-2", node="n3").pod("late")
    selector = pb.LabelSelector()
    builder.message.disruption_budgets.add(
        namespace="default", name="all", selector=selector
    )
    plan = pb.Plan(snapshot_id=builder.message.id)
    plan.placements.add(pod_uid="placed", node="n1")
    plan.placements.add(pod_uid="other", node="n2")
    plan.moves.add(pod_uid="moved", from_node="n1", to_node="n3")
    plan.evictions.add(pod_uid="gone", node="n1")
    index = Index(builder.message)
    recount_tiers(plan, builder.message, index)
    return MutationContext(Random(seed), index, builder.message, plan)  # noqa: S311


def empty_context() -> MutationContext:
    builder = SnapshotBuilder().node("n1")
    plan = pb.Plan(snapshot_id=builder.message.id)
    return MutationContext(Random(1), Index(builder.message), builder.message, plan)  # noqa: S311


def name(mutation: Callable[..., object]) -> str:
    return mutation.__name__


@pytest.mark.parametrize("mutation", [*MUTATIONS, *CLAIMS], ids=name)
def test_a_mutation_changes_the_plan_and_says_so(mutation: Mutation) -> None:
    """One that changes nothing would count good plans as mutated ones."""
    changed = 0
    for seed in SEEDS:
        context = busy_context(seed)
        before = context.plan.SerializeToString(deterministic=True)

        assert mutation(context)

        changed += context.plan.SerializeToString(deterministic=True) != before
    assert changed > len(SEEDS) // 2


@pytest.mark.parametrize("mutation", MUTATIONS, ids=name)
def test_where_there_is_nothing_to_change_it_says_so(mutation: Mutation) -> None:
    """Then another one is tried."""
    context = empty_context()
    before = context.plan.SerializeToString(deterministic=True)

    changed = mutation(context)

    after = context.plan.SerializeToString(deterministic=True)
    assert changed == (after != before)
