"""The checker finds every kind of wrong plan."""

from __future__ import annotations

from typing import get_args

import pytest
from broken_plans import MUTATIONS, Mutation, PlanContext
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import checker, verify_plan
from stowage_optimizer.verify.checker import NAMES, RULES, Rule
from stowage_optimizer.verify.violation import RuleName


def rules_broken(
    snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy = pb.POLICY_STRICT
) -> set[str]:
    return {violation.rule for violation in verify_plan(snapshot, plan, policy)}


def tier(
    priority: int, before: int, placed: int, disruption: int = 0, bound: int = 9
) -> pb.TierResult:
    return pb.TierResult(
        priority=priority,
        placed_before=before,
        placed=placed,
        upper_bound=bound,
        disruption=disruption,
    )


def a_plan(
    tiers: list[pb.TierResult],
    *,
    placed: dict[str, str] | None = None,
    moved: dict[str, tuple[str, str]] | None = None,
    evicted: dict[str, str] | None = None,
) -> pb.Plan:
    plan = pb.Plan(snapshot_id="snapshot-1", tiers=tiers)
    for uid, node in (placed or {}).items():
        plan.placements.add(pod_uid=uid, node=node)
    for uid, (source, target) in (moved or {}).items():
        plan.moves.add(pod_uid=uid, from_node=source, to_node=target)
    for uid, node in (evicted or {}).items():
        plan.evictions.add(pod_uid=uid, node=node)
    return plan


def trade() -> tuple[pb.Snapshot, pb.Plan]:
    """Return a plan that evicts one running pod for a pending one of its priority."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.pod("running", cpu_milli=4, node="n")
    builder.pod("first", cpu_milli=2).pod("second", cpu_milli=2)
    return builder.message, a_plan(
        [tier(0, 1, 2, 3)],
        placed={"first": "n", "second": "n"},
        evicted={"running": "n"},
    )


def test_equal_priority_may_be_traded_under_the_papers_policy_only() -> None:
    """The policies differ in exactly this."""
    assert rules_broken(*trade(), pb.POLICY_STRICT) == {"policy"}
    assert rules_broken(*trade(), pb.POLICY_PAPER) == set()


def test_the_eviction_of_a_pod_that_waits_is_told_and_stumbled_over_by_no_rule() -> (
    None
):
    """It stopped the checker with an error as soon as a pod above it gained."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.pod("waits", cpu_milli=2).pod("high", cpu_milli=2, priority=1)
    plan = a_plan(
        [tier(1, 0, 1), tier(0, 0, 1)], placed={"high": "n"}, evicted={"waits": "n"}
    )

    assert rules_broken(builder.message, plan) == {"origin"}


def test_an_eviction_that_higher_priority_did_not_force_is_caught() -> None:
    """A gain above is no licence to trade below."""
    builder = SnapshotBuilder().node("n", cpu_milli=6)
    builder.pod("running", cpu_milli=2, node="n")
    builder.pod("high", cpu_milli=2, priority=1)
    builder.pod("wide", cpu_milli=4)
    plan = a_plan(
        [tier(1, 0, 1), tier(0, 1, 2, 3)],
        placed={"high": "n", "wide": "n"},
        evicted={"running": "n"},
    )

    assert rules_broken(builder.message, plan) == {"policy"}


@pytest.mark.parametrize(
    "plan",
    [
        a_plan([tier(1, 1, 1), tier(0, 2, 2, 2)], moved={"low": ("a", "b")}),
        a_plan([tier(1, 1, 1), tier(0, 2, 1, 3)], evicted={"low": "a"}),
        a_plan(
            [tier(1, 1, 1, 2), tier(0, 2, 3, 2)],
            placed={"waiting": "a"},
            moved={"high": ("a", "b")},
        ),
    ],
    ids=["moves for nothing", "loses a pod", "moves a higher pod for a lower one"],
)
def test_a_plan_that_is_not_better_tier_by_tier_is_caught(plan: pb.Plan) -> None:
    """Never worse than before, by the objective's own order (R14)."""
    builder = SnapshotBuilder().node("a").node("b")
    builder.pod("high", priority=1, node="a").pod("low", node="a").pod("waiting")

    assert "worth" in rules_broken(builder.message, plan, pb.POLICY_PAPER)


def test_an_overcommitted_node_may_keep_its_pods_but_take_no_more() -> None:
    """Real clusters have such nodes; they must not stop every plan."""
    builder = SnapshotBuilder().node("full", cpu_milli=1).node("free", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="full").pod("b", cpu_milli=1)
    to_free = a_plan([tier(0, 1, 2)], placed={"b": "free"})
    to_full = a_plan([tier(0, 1, 2)], placed={"b": "full"})

    assert rules_broken(builder.message, to_free) == set()
    assert rules_broken(builder.message, to_full) == {"capacity"}


EVERY = [(one, rule) for rule, many in MUTATIONS.items() for one in many]


def test_a_good_plan_breaks_no_rule() -> None:
    """The mutants below start from something that passes."""
    assert PlanContext().rules_broken() == set()


def test_every_rule_that_exists_is_broken_by_some_mutant() -> None:
    """The type checker holds all names to this list, so that it cannot go stale."""
    assert set(MUTATIONS) == set(get_args(RuleName)) - {"certificate"}
    assert all(MUTATIONS.values())


@pytest.mark.parametrize(
    ("mutate", "rule"), EVERY, ids=[one.__name__[1:] for one, _ in EVERY]
)
def test_each_mutant_is_caught_by_its_rule_alone(mutate: Mutation, rule: str) -> None:
    """A rule that never fires is no rule, nor is one that others must cover (R12)."""
    context = PlanContext()

    mutate(context)

    assert context.rules_broken() == {rule}


@pytest.mark.parametrize("left_out", [*NAMES, *RULES], ids=lambda rule: rule.__name__)
def test_without_any_one_rule_some_mutant_passes(
    left_out: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So every rule is in the list that is gone through, and does something."""
    for name, rules in (("NAMES", NAMES), ("RULES", RULES)):
        kept = tuple(rule for rule in rules if rule is not left_out)
        monkeypatch.setattr(checker, name, kept)

    assert any(_passes(mutate) for mutate, _ in EVERY)


def _passes(mutate: Mutation) -> bool:
    context = PlanContext()
    mutate(context)
    return not context.rules_broken()
