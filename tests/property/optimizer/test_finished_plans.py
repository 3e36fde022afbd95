"""Limits, curve and consolidation on small random snapshots."""

from collections.abc import Callable
from itertools import product
from random import Random

import pytest
from brute_force import feasible, outcome, value_of
from examples import examples
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from made_snapshots import small_snapshots, tight_snapshots
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.verify import verify_plan
from tests.differential.related_pods import related_pods

pytestmark = pytest.mark.thorough

SNAPSHOTS = st.one_of(small_snapshots(), tight_snapshots())
MANY = examples(100, HealthCheck.filter_too_much)
STRATEGY = "cpsat-aggregated"
QUICK = ["boreas", "cpsat-aggregated", "first-fit-decreasing", "milp", "paper"]


@st.composite
def limits(draw: st.DrawFn) -> pb.SolveOptions:
    asked = pb.SolveOptions(strategy=STRATEGY)
    asked.policy = draw(st.sampled_from([pb.POLICY_STRICT, pb.POLICY_PAPER]))
    if draw(st.booleans()):
        asked.max_moves = draw(st.integers(0, 2))
    if draw(st.booleans()):
        asked.max_evictions = draw(st.integers(0, 1))
    if draw(st.booleans()):
        asked.max_disruptions_per_owner = draw(st.integers(0, 1))
    asked.min_gain_per_move = draw(st.sampled_from([0.0, 0.4, 1.0]))
    return asked


@MANY
@given(snapshot=SNAPSHOTS, asked=limits(), owners=st.integers(1, 2))
def test_plans_within_limits_pass_the_checker(snapshot: pb.Snapshot, asked: pb.SolveOptions, owners: int) -> None:
    """What is dropped must leave a plan that is feasible, strict and worth it."""
    for index, one in enumerate(snapshot.pod_classes):
        one.owner.uid = f"owner-{index % owners}"
    published: list[Solution] = []

    answer = finished_answer_to(snapshot, asked, published=published)

    values = []
    for plan in (*published, answer.solution):
        message = encode_plan(plan)
        assert verify_plan(snapshot, message, asked.policy, asked) == []
        values.append(value_of(snapshot, outcome(snapshot, message), asked.policy))
    assert values == sorted(values)


@MANY
@given(snapshot=SNAPSHOTS, asked=limits())
def test_a_limited_plan_is_called_optimal_only_if_the_free_one_is_as_good(
    snapshot: pb.Snapshot, asked: pb.SolveOptions
) -> None:
    """Proofs are of the problem without limits; a part of a plan has none."""
    free = pb.SolveOptions(strategy=STRATEGY, policy=asked.policy)
    best = finished_answer_to(snapshot, free).plan

    plan = finished_answer_to(snapshot, asked).plan

    for mine, whole in zip(plan.tiers, best.tiers, strict=True):
        if (mine.placed, mine.disruption) != (whole.placed, whole.disruption):
            assert not mine.optimal
            assert mine.upper_bound >= whole.placed
            break


@MANY
@given(snapshot=tight_snapshots())
def test_every_point_of_the_curve_is_a_plan_within_that_many_moves(snapshot: pb.Snapshot) -> None:
    """The curve promises: with this limit on moves so many pods are placed."""
    plan = finished_answer_to(snapshot, pb.SolveOptions(strategy=STRATEGY)).plan
    assume(plan.gain_by_moves)

    for point in plan.gain_by_moves:
        asked = pb.SolveOptions(strategy=STRATEGY, max_moves=point.moves)
        limited = finished_answer_to(snapshot, asked).plan

        assert limited.tiers[-1].placed >= point.placed or limited.evictions


PRICES = st.lists(st.integers(0, 6) | st.sampled_from([1, 10**6, 2**40]), min_size=3, max_size=3)


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("max_moves", [None, 1])
@MANY
@given(snapshot=SNAPSHOTS, prices=PRICES)
def test_no_assignment_uses_fewer_or_cheaper_nodes_or_as_many_with_fewer_moves(
    priced: bool, max_moves: int | None, snapshot: pb.Snapshot, prices: list[int]
) -> None:
    """Prices of the nodes in use count first, or their number if there are none.

    Some prices may be missing. All pods keep a node.
    """
    if priced:
        assume(any(prices[: len(snapshot.nodes)]))
        for node, one in zip(snapshot.nodes, prices, strict=False):
            node.hourly_price_micros = 5 * one
    price = {node.name: node.hourly_price_micros for node in snapshot.nodes}
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE, max_moves=max_moves)

    answer = finished_answer_to(snapshot, asked)

    def cost(nodes: set[str]) -> int:
        return sum(price[name] for name in nodes) if priced else len(nodes)

    plan, found = answer.plan, answer.plan.nodes_in_use
    nodes = _nodes_in_use(snapshot, plan)
    assert verify_plan(snapshot, plan, asked.policy, asked) == []
    assert (cost(nodes), len(plan.moves)) == _least(snapshot, max_moves, cost)
    assert found.after == len(nodes)
    assert found.moves_lower_bound == len(plan.moves)
    if priced:
        assert found.price_after_micros == found.price_lower_bound_micros == cost(nodes)
        assert found.lower_bound <= _least(snapshot, max_moves, len)[0]
    else:
        assert found.lower_bound == len(nodes)
    best = "cheapest" if priced else "fewest"
    assert f": proved {best}, with fewest moves" in answer.message


@pytest.mark.parametrize("objective", [pb.OBJECTIVE_PLACE, pb.OBJECTIVE_CONSOLIDATE])
@pytest.mark.parametrize("strategy", QUICK)
@pytest.mark.parametrize("seed", range(6))
def test_pods_that_demand_things_of_each_other_are_finished_too(
    seed: int, strategy: str, objective: pb.Objective
) -> None:
    """Affinity, spread and ports hold for parts of plans, and where nodes go."""
    rng = Random(seed)  # noqa: S311
    snapshot = related_pods(rng, waiting=4)
    for node in snapshot.nodes:
        node.allocatable.pods = rng.randrange(1, 6)
    for one in snapshot.pod_classes:
        one.priority = rng.randrange(3)
        one.owner.uid = rng.choice(["web", "db"])
    for pod in snapshot.pods:
        pod.movable = bool(rng.randrange(3))
        pod.deletion_cost = rng.randrange(3)
    asked = pb.SolveOptions(strategy=strategy, objective=objective)
    if rng.randrange(2):
        asked.max_moves = rng.randrange(3)
    if rng.randrange(2):
        asked.max_disruptions_per_owner = rng.randrange(2)

    plan = finished_answer_to(snapshot, asked).plan

    assert verify_plan(snapshot, plan, asked.policy, asked) == []


def _nodes_in_use(snapshot: pb.Snapshot, plan: pb.Plan) -> set[str]:
    return {node for node in outcome(snapshot, plan).values() if node}


def _least(snapshot: pb.Snapshot, max_moves: int | None, cost: Callable[[set[str]], int]) -> tuple[int, int]:
    """Return cost of the nodes in use and moves of the best of all assignments."""
    pods = [pod for pod in snapshot.pods if pod.node]
    unpriced = {node.name for node in snapshot.nodes if not node.hourly_price_micros}
    if len(unpriced) == len(snapshot.nodes):
        unpriced = set()
    closed = unpriced - _nodes_in_use(snapshot, pb.Plan())
    open_to = [node.name for node in snapshot.nodes if node.name not in closed]
    choices = [open_to if pod.movable else [pod.node] for pod in pods]
    found = []
    for nodes in product(*choices):
        where = {pod.uid: "" for pod in snapshot.pods}
        where |= {pod.uid: node for pod, node in zip(pods, nodes, strict=True)}
        moves = sum(where[pod.uid] != pod.node for pod in pods)
        if (max_moves is None or moves <= max_moves) and feasible(snapshot, where):
            found.append((cost(set(nodes)), moves))
    return min(found)
