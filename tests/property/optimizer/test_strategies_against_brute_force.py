"""Every strategy against trying every assignment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from random import Random

import pytest
from brute_force import Where, best_value, outcome, value_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_plans import feasible
from small_snapshots import small_snapshots, tight_snapshots
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, answer_to, finished_answer_to

from benchmarks.agreement.related_pods import crowded_pods
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.strategies.registry import shipped_strategies
from stowage_optimizer.verify import verify_plan

POLICIES = [pb.POLICY_STRICT, pb.POLICY_PAPER]
EVERY = sorted(shipped_strategies())
PROVING = [name for name in ("cpsat-aggregated", "portfolio", "z3") if name in EVERY]
"""Those that reach the best answer and prove it, besides the two that are most used."""
LIMIT_S = 5.0
"""Proofs are tried for shares of it; the smallest one is far longer than needed."""

SNAPSHOTS = st.one_of(small_snapshots(), tight_snapshots())
FEW = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def reaches_the_best(snapshot: pb.Snapshot, answer: Answer, policy: pb.Policy) -> None:
    """Assert that every tier of ``answer`` is as good as in the best assignment.

    Under STRICT the oracle's value counts the running pods kept before the pods
    placed, which is the policy's definition: a running pod of a priority goes only
    if no best answer of the tiers above lets it stay.
    """
    reached = value_of(snapshot, outcome(snapshot, answer.plan), policy)
    assert reached == best_value(snapshot, policy)


def proves_the_best(snapshot: pb.Snapshot, answer: Answer, policy: pb.Policy) -> None:
    """Assert the same, and that it is known."""
    reaches_the_best(snapshot, answer, policy)
    assert answer.plan.optimal
    wanted = EndReason.NO_IMPROVEMENT if answer.solution.empty else EndReason.OPTIMAL
    assert answer.end_reason is wanted


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", PROVING)
@FEW
@given(snapshot=SNAPSHOTS)
def test_every_tier_is_as_good_as_the_best_assignment_and_proved(
    strategy: str, policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """One objective for all of them, so that they can be compared."""
    answer = answer_to(snapshot, policy=policy, strategy=strategy)

    proves_the_best(snapshot, answer, policy)


@pytest.mark.parametrize("policy", POLICIES)
@FEW
@given(snapshot=SNAPSHOTS)
def test_a_floating_point_solver_reaches_the_best_and_proves_nothing(
    policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """Its numbers are rounded, so that what it finds counts, not what it says of it."""
    reaches_the_best(
        snapshot, answer_to(snapshot, policy=policy, strategy="milp"), policy
    )


@pytest.mark.parametrize("policy", POLICIES)
@settings(FEW, max_examples=120)
@given(snapshot=SNAPSHOTS)
def test_the_paper_reaches_the_best_in_both_phases_of_every_tier(
    policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
    """The others are measured against it."""
    proves_the_best(snapshot, answer_to(snapshot, policy=policy), policy)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@settings(FEW, max_examples=80)
@given(snapshot=SNAPSHOTS)
def test_search_and_proof_settle_small_snapshots(
    policy: pb.Policy, deterministic: bool, snapshot: pb.Snapshot
) -> None:
    """In both ways of counting time."""
    answer = answer_to(
        snapshot,
        policy=policy,
        strategy="lexicographic",
        deterministic=deterministic,
        time_limit_s=LIMIT_S,
    )

    proves_the_best(snapshot, answer, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@FEW
@given(snapshot=SNAPSHOTS)
def test_what_is_called_optimal_is(
    strategy: str, policy: pb.Policy, snapshot: pb.Snapshot
) -> None:
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


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", EVERY)
@pytest.mark.parametrize("time_limit_s", [20.0, 0.003, 1e-6])
@settings(FEW, max_examples=15)
@given(snapshot=SNAPSHOTS)
def test_every_published_plan_passes_the_checker_and_gets_better(
    strategy: str, policy: pb.Policy, time_limit_s: float, snapshot: pb.Snapshot
) -> None:
    """Whatever is streamed may be the last word, also when time is far too short.

    A plan comes again where more is proved of it.
    """
    published: list[Solution] = []

    answer = answer_to(
        snapshot,
        policy=policy,
        time_limit_s=time_limit_s,
        published=published,
        strategy=strategy,
    )

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
    before, after = (
        [
            number
            for tier in plan.tiers
            for number in (
                -tier.upper_bound,
                tier.disruption_lower_bound,
                tier.optimal,
            )
        ]
        for plan in (one, other)
    )
    return before != after and all(a >= b for a, b in zip(after, before, strict=True))


@pytest.mark.parametrize("strategy", EVERY)
@settings(FEW, max_examples=10)
@given(snapshot=SNAPSHOTS)
def test_the_same_seed_and_steps_give_the_same_answer(
    strategy: str, snapshot: pb.Snapshot
) -> None:
    """Work is counted in steps there, so that the machine's load does not matter."""
    one, other = (
        answer_to(snapshot, deterministic=True, seed=7, strategy=strategy)
        for _ in range(2)
    )

    assert (one.plan, one.message) == (other.plan, other.message)


def _waiting() -> SnapshotBuilder:
    return SnapshotBuilder().pod("p", cpu_milli=1).pod("q", cpu_milli=1)


def _related(snapshot: pb.Snapshot) -> pb.Snapshot:
    for one in snapshot.pod_classes:
        one.required_pod_affinity.add(topology_key="zone")
    return snapshot


def _unsupported(snapshot: pb.Snapshot) -> pb.Snapshot:
    for one in snapshot.pod_classes:
        one.unsupported.append("volumes")
    return snapshot


EMPTY = {
    "nothing": SnapshotBuilder().message,
    "no nodes": _waiting().message,
    "no nodes for related pods": _related(_waiting().message),
    "no pods": SnapshotBuilder().node("n").message,
    "no pods that a plan may place": _unsupported(_waiting().node("n").message),
    "no room": _waiting().node("n", cpu_milli=0).message,
}


@pytest.mark.parametrize("objective", [pb.OBJECTIVE_PLACE, pb.OBJECTIVE_CONSOLIDATE])
@pytest.mark.parametrize("what", EMPTY)
@pytest.mark.parametrize("strategy", EVERY)
def test_an_empty_problem_is_no_accident(
    strategy: str, what: str, objective: pb.Objective
) -> None:
    """Nothing to do, and nothing to trip over."""
    asked = pb.SolveOptions(strategy=strategy, objective=objective, workers=1)

    answer = finished_answer_to(EMPTY[what], asked)

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
def test_a_node_is_filled_whatever_it_has(
    strategy: str, size: int, asked: int, runs: int, placed: int
) -> None:
    """Kubernetes takes any amount that fits into 64 bits; sums of them do not."""
    builder = SnapshotBuilder()
    for name in ("a", "b", "c"):
        builder.node(name, extended={"x": size if name == "a" else 0})
    builder.pod_class("waits", extended={"x": asked})
    builder.pod_class("runs", extended={"x": runs}).unsupported.append("volumes")
    builder.pod("p", of="waits").pod("q", of="waits").pod("r", of="runs", node="a")

    plan = finished_answer_to(
        builder.message, pb.SolveOptions(strategy=strategy, workers=1)
    ).plan

    if strategy == "boreas" and placed < 2:
        placed = 0
    assert [one.node for one in plan.placements] == ["a"] * placed
    assert verify_plan(builder.message, plan, pb.POLICY_STRICT) == []


SEEDS = range(40)
MOST_ASSIGNMENTS = 1_100
STRATEGIES = ["cpsat-aggregated", "first-fit-decreasing"]


def small(seed: int) -> pb.Snapshot:
    """Return three nodes and a few pods, of which not all find room."""
    snapshot = crowded_pods(Random(seed), waiting=2)  # noqa: S311
    gone = snapshot.nodes[-1].name
    del snapshot.nodes[-1]
    kept = [pod for pod in snapshot.pods if pod.node != gone]
    del snapshot.pods[:]
    snapshot.pods.extend(kept)
    for node in snapshot.nodes:
        node.allocatable.pods = min(3, node.allocatable.pods)
    return snapshot


def assignments(snapshot: pb.Snapshot) -> Iterator[Where]:
    names = ["", *(node.name for node in snapshot.nodes)]
    choices = [
        [pod.node] if pod.node and not pod.movable else names for pod in snapshot.pods
    ]
    for nodes in product(*choices):
        yield {pod.uid: node for pod, node in zip(snapshot.pods, nodes, strict=True)}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_called_optimal_is_beaten_by_no_assignment(
    seed: int, strategy: str
) -> None:
    """Limits come from the problem without demands; so they are never too low."""
    snapshot = small(seed)
    count = 1
    for pod in snapshot.pods:
        count *= 1 if pod.node and not pod.movable else 1 + len(snapshot.nodes)
    if count > MOST_ASSIGNMENTS:
        return
    asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True)

    plan = finished_answer_to(snapshot, asked).plan

    assert verify_plan(snapshot, plan, pb.POLICY_STRICT) == []
    mine = value_of(snapshot, outcome(snapshot, plan), pb.POLICY_STRICT)
    proved = sum(tier.optimal for tier in plan.tiers)
    for where in assignments(snapshot):
        value = value_of(snapshot, where, pb.POLICY_STRICT)
        better = value[:proved] > mine[:proved]
        more = (
            value[:proved] == mine[:proved]
            and proved < len(value)
            and value[proved][0] >= mine[proved][0]
            and value[proved][1] > plan.tiers[proved].upper_bound
        )
        assert not ((better or more) and feasible(snapshot, where)), where
