"""Gain: the share of the price over the share of the moves."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.defragment.gain import Gains, cost_of_move


def fleet(prices: list[int], pods: list[int]) -> pb.Snapshot:
    """Return nodes with so many movable pods each."""
    made = pb.Snapshot(pod_classes=[pb.PodClass(id="c")])
    for number, (price, count) in enumerate(zip(prices, pods, strict=True)):
        made.nodes.add(name=f"n{number}", hourly_price_micros=price)
        for pod in range(count):
            made.pods.add(
                uid=f"{number}-{pod}", class_id="c", node=f"n{number}", movable=True
            )
    return made


def gains(snapshot: pb.Snapshot) -> list[Fraction]:
    """Return the gain of emptying each node of all its pods."""
    names = frozenset(node.name for node in snapshot.nodes)
    known = Gains(snapshot, names)
    return [
        known.of(name, [pod.uid for pod in snapshot.pods if pod.node == name])
        for name in sorted(names)
    ]


def test_a_node_with_the_share_of_the_price_that_its_pods_are_has_a_gain_of_1() -> None:
    """That is what emptying everything would bring on the average."""
    assert gains(fleet([10, 10], [5, 5])) == [1, 1]
    assert gains(fleet([30, 10], [5, 5])) == [Fraction(3, 2), Fraction(1, 2)]
    assert gains(fleet([10, 10], [1, 4])) == [Fraction(5, 2), Fraction(5, 8)]


def test_without_any_price_each_node_counts_as_one() -> None:
    """Fewer nodes are then what is wanted."""
    assert gains(fleet([0, 0], [1, 4])) == [Fraction(5, 2), Fraction(5, 8)]


def test_a_node_of_unknown_price_gains_nothing_where_others_have_one() -> None:
    """Nothing is known to be saved by emptying it."""
    assert gains(fleet([0, 10], [1, 1])) == [0, 2]


@pytest.mark.parametrize(
    ("deletion_cost", "priority", "cost"),
    [
        (0, 0, Fraction(1)),
        (2**27, 0, Fraction(2)),
        (0, 2**25, Fraction(2)),
        (-(2**31), 0, Fraction(1, 10)),
        (2**26, 2**24, Fraction(2)),
    ],
)
def test_a_pod_costs_more_to_move_the_more_it_matters(
    deletion_cost: int, priority: int, cost: Fraction
) -> None:
    """The numbers are those of Karpenter's own cost of a disruption."""
    assert cost_of_move(deletion_cost, priority) == cost


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 5)), min_size=1))
def test_gains_weighed_by_moves_are_1_on_the_average(
    nodes: list[tuple[int, int]],
) -> None:
    """Both shares add up to one: no node's gain is out of proportion to the whole."""
    snapshot = fleet([price for price, _ in nodes], [count for _, count in nodes])
    known = Gains(snapshot, frozenset(node.name for node in snapshot.nodes))

    moved = sum(count for _, count in nodes)
    average = sum(
        known.of(f"n{number}", [f"{number}-{pod}" for pod in range(count)]) * count
        for number, (_, count) in enumerate(nodes)
    )

    assert average == moved
