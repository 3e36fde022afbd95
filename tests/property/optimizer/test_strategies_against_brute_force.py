"""Every strategy against trying every assignment."""

from itertools import pairwise
from typing import Any

import pytest
from brute_force import best_value, outcome, value_of
from examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from made_snapshots import small_snapshots, tight_snapshots
from snapshot_builder import SnapshotBuilder
from solving_in_process import STRATEGIES, answer_to, finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.verify import verify_plan

POLICIES = [pb.POLICY_STRICT, pb.POLICY_PAPER]
EVERY = sorted(STRATEGIES)
BEST = ["cpsat-aggregated", "lexicographic", "milp", "paper", "z3"]
"""Those that reach the best answer; all but `milp`, which rounds, prove it."""

LIMIT_S = 20.0
"""Proofs are tried for shares of it; the smallest one is far longer than needed."""

SNAPSHOTS = st.one_of(small_snapshots(), tight_snapshots())
FEW = examples(30)


def _overcommitted() -> pb.Snapshot:
    """Return a node on which more pods run than it has room for, where prices prove little."""
    builder = SnapshotBuilder().node("n", cpu_milli=1, memory_bytes=2, pods=2)
    for name, priority in (("mid", 1), ("high", 2)):
        builder.pod_class(name, memory_bytes=1, priority=priority)
    builder.pod("mid-0", of="mid", node="n").pod("mid-1", of="mid", node="n")
    builder.pod("high-0", of="high", node="n", movable=False).pod("high-1", of="high")
    for name in ("low-0", "low-1"):
        builder.pod(name, memory_bytes=1)
    for name in ("mid", "class-low-0", "class-low-1"):
        builder.message.forbidden_pairs.add(class_id=name, node="n")
    return builder.message


@pytest.mark.thorough
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("strategy", "deterministic"), [*((name, False) for name in BEST if name in EVERY), ("lexicographic", True)]
)
@examples(60)
@given(snapshot=SNAPSHOTS)
@example(snapshot=_overcommitted())
def test_every_tier_is_as_good_as_the_best_assignment_and_proved(
    strategy: str, deterministic: bool, policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """One objective for all of them, so that they can be compared.

    Under STRICT the oracle's value counts the running pods kept before the pods placed, which is the policy's
    definition: a running pod of a priority goes only if no best answer of the tiers above lets it stay.
    """
    answer = answer_to(snapshot, policy=policy, strategy=strategy, deterministic=deterministic, time_limit_s=LIMIT_S)

    reached = value_of(snapshot, outcome(snapshot, answer.plan), policy)
    assert reached == best_value(snapshot, policy)
    if strategy != "milp":
        nothing = answer.solution.empty
        wanted = EndReason.NO_IMPROVEMENT if nothing else EndReason.OPTIMAL
        assert (answer.plan.optimal, answer.end_reason) == (True, wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@FEW
@given(snapshot=SNAPSHOTS)
def test_what_is_called_optimal_is(strategy: str, policy: pb.Policy, snapshot: pb.Snapshot) -> None:
    """A wrong certificate is worse than none; heuristics may be lucky, not boastful."""
    answer = answer_to(snapshot, policy=policy, strategy=strategy)

    reached = value_of(snapshot, outcome(snapshot, answer.plan), policy)
    best = best_value(snapshot, policy)
    for tier, mine, oracle in zip(answer.plan.tiers, reached, best, strict=True):
        assert not tier.optimal or mine == oracle
        assert tier.upper_bound >= mine[1]
        if mine != oracle:
            assert tier.upper_bound >= oracle[1]
            break


@pytest.mark.thorough
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize("time_limit_s", [20.0, 0.003, 1e-6])
@examples(15)
@given(snapshot=SNAPSHOTS)
def test_every_published_plan_passes_the_checker_and_gets_better(
    strategy: str, policy: pb.Policy, time_limit_s: float, snapshot: pb.Snapshot
) -> None:
    """Whatever is streamed may be the last word, also when time is far too short.

    A plan comes again where more is proved of it.
    """
    published: list[Solution] = []

    answer = answer_to(snapshot, policy=policy, time_limit_s=time_limit_s, published=published, strategy=strategy)

    values = []
    for plan in (*published, answer.solution):
        message = encode_plan(plan)
        assert verify_plan(snapshot, message, policy) == []
        values.append(value_of(snapshot, outcome(snapshot, message), policy))
    assert values == sorted(values)
    for (one, value), (other, better) in pairwise(zip(published, values, strict=False)):
        assert better > value or _more_is_proved(one, other)
    assert values[-1] == values[-2]


def _more_is_proved(one: Solution, other: Solution) -> bool:
    """Tell whether no limit of the plan is wider than before, and some are tighter."""
    pairs = [
        (after, before)
        for earlier, later in zip(one.tiers, other.tiers, strict=True)
        for after, before in (
            (-later.upper_bound, -earlier.upper_bound),
            (later.disruption_lower_bound, earlier.disruption_lower_bound),
            (later.optimal, earlier.optimal),
        )
    ]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


@pytest.mark.parametrize("strategy", EVERY)
@examples(10)
@given(snapshot=SNAPSHOTS)
def test_the_same_seed_and_steps_give_the_same_answer(strategy: str, snapshot: pb.Snapshot) -> None:
    """Work is counted in steps there, so that the machine's load does not matter."""
    asked = pb.SolveOptions(strategy=strategy, deterministic=True, seed=7, workers=1, max_moves=1)

    one, other = (finished_answer_to(snapshot, asked) for _ in range(2))

    assert (one.plan, one.message) == (other.plan, other.message)


def _waiting(**fields: Any) -> SnapshotBuilder:
    """Return two waiting pods of a class with ``fields``."""
    builder = SnapshotBuilder()
    one = builder.pod_class("web", cpu_milli=1)
    one.MergeFrom(pb.PodClass(**fields))
    return builder.pod("p", of="web").pod("q", of="web")


RELATED = [pb.PodAffinityTerm(topology_key="zone")]
EMPTY = {
    "nothing": SnapshotBuilder(),
    "no nodes": _waiting(),
    "no nodes for related pods": _waiting(required_pod_affinity=RELATED),
    "no pods": SnapshotBuilder().node("n"),
    "no pods that a plan may place": _waiting(unsupported=["volumes"]).node("n"),
    "no room": _waiting().node("n", cpu_milli=0),
}


@pytest.mark.parametrize("objective", [pb.OBJECTIVE_PLACE, pb.OBJECTIVE_CONSOLIDATE])
@pytest.mark.parametrize("what", EMPTY)
@pytest.mark.parametrize("strategy", EVERY)
def test_an_empty_problem_is_no_accident(strategy: str, what: str, objective: pb.Objective) -> None:
    """Nothing to do, and nothing to trip over."""
    asked = pb.SolveOptions(strategy=strategy, objective=objective, workers=1)

    answer = finished_answer_to(EMPTY[what].message, asked)

    assert answer.solution.empty
    assert answer.end_reason is EndReason.NO_IMPROVEMENT


@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize(
    ("size", "asked", "runs", "placed"),
    [
        pytest.param(10**18, 1, 0, 2, id="a little of 1e18"),
        pytest.param(2**63 - 1, 2**58, 1, 2, id="parts that no double holds exactly"),
        pytest.param(2**63 - 1, 3, 2**63 - 7, 2, id="beside a pod that has the most"),
        pytest.param(2**63 - 1, 3, 2**63 - 6, 1, id="beside a pod that has more"),
    ],
)
def test_a_node_is_filled_whatever_it_has(strategy: str, size: int, asked: int, runs: int, placed: int) -> None:
    """Kubernetes takes any amount that fits into 64 bits; sums of them do not."""
    builder = SnapshotBuilder()
    for name in ("a", "b", "c"):
        builder.node(name, extended={"x": size if name == "a" else 0})
    builder.pod_class("waits", extended={"x": asked})
    builder.pod_class("runs", extended={"x": runs}).unsupported.append("volumes")
    builder.pod("p", of="waits").pod("q", of="waits").pod("r", of="runs", node="a")

    plan = finished_answer_to(builder.message, pb.SolveOptions(strategy=strategy, workers=1)).plan

    if strategy == "boreas" and placed < 2:  # all of a batch, or none
        placed = 0
    assert [one.node for one in plan.placements] == ["a"] * placed
    assert verify_plan(builder.message, plan, pb.POLICY_STRICT) == []
