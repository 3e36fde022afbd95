"""How pods are packed at one moment, and percentiles."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from amounts import size, taken

from stowage_testbed.metrics.latency import percentile
from stowage_testbed.metrics.packing import (
    compute_utilisation,
    count_pending_by_workload,
    count_placed_by_priority,
    count_pods_per_node,
    hash_placement,
    is_not_worse,
    list_groups,
    list_placements,
)
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState

GB = 10**9


def figure_1(third: str | None = None) -> ClusterState:
    """Return Figure 1 of the paper; the third pod is pending unless it has a node."""
    second = "b" if third is None else "a"
    return ClusterState(
        nodes=(NodeState("a", size(4000, 4 * GB)), NodeState("b", size(4000, 4 * GB))),
        pods=(
            PodState("first", "a", taken(100, 2 * GB), priority=1),
            PodState("second", second, taken(100, 2 * GB), priority=1),
            PodState("third", third, taken(100, 3 * GB), priority=2),
        ),
    )


def test_utilisation_counts_the_requests_of_bound_pods_only() -> None:
    """Figure 1: 4 of 8 GB before, 7 of 8 GB after; no nodes divide by nothing."""
    before, none = Fraction(1, 2), Fraction(0)

    assert compute_utilisation(figure_1()) == {"cpu": Fraction(1, 40), "memory": before}
    assert compute_utilisation(figure_1("b"))["memory"] == Fraction(7, 8)
    assert compute_utilisation(ClusterState((), ())) == {"cpu": none, "memory": none}


def test_placements_are_counted_by_what_an_author_knows() -> None:
    """Names of pods are random, and nodes that are equal may be exchanged."""
    before, after = figure_1(), figure_1("b")

    # A priority that got nothing is the thing to see.
    assert list(count_placed_by_priority(before).items()) == [(2, 0), (1, 2)]
    assert count_pods_per_node(before) == {"a": 1, "b": 1}
    assert count_pods_per_node(replace(before, pods=())) == {"a": 0, "b": 0}
    assert count_pending_by_workload(before) == {"third": 1}
    assert count_pending_by_workload(after) == {}
    assert list_groups(after) == (("first", "second"), ("third",))
    assert list_placements(after) == {
        "first": ("a",), "second": ("a",), "third": ("b",),
    }  # fmt: skip


def test_the_placement_hash_is_a_known_value() -> None:
    """Bundles are compared by it: it is sha256sum of the three lines, for ever.

    Two runs give ReplicaSet pods other names and list them in another order.
    """
    before = figure_1()
    others = tuple(replace(pod, name="x") for pod in reversed(before.pods))

    assert hash_placement(before) == ("02964a7ac652ea9e851bd96df5843dac2db01614041cc9c14b12ba9a78528a3f")
    assert hash_placement(replace(before, pods=others)) == hash_placement(before)
    assert hash_placement(before) != hash_placement(figure_1("b"))


def test_percentiles_are_nearest_rank() -> None:
    """It is a sample that occurred, never a mean of two, and refused of too few."""

    def found(rank: float, n: int) -> float | str | None:
        one = percentile([float(n) for n in range(n, 0, -1)], rank)
        assert one.n == n
        return one.reason or one.value

    ranks = (0, 50, 50.5, 90, 95, 99)
    assert [found(rank, 100) for rank in ranks] == [1, 50, 51, 90, 95, 99]
    assert found(95, 20) == 19
    # It would be the maximum, which says nothing of the tail.
    assert found(99, 99) == "p99 needs n >= 100, got 99"
    assert found(95, 19) == "p95 needs n >= 20, got 19"
    assert found(50, 0) == "p50 needs n >= 2, got 0"
    with pytest.raises(ValueError, match="not including, 100"):
        percentile([1.0], 100)


def test_the_highest_priority_that_differs_decides() -> None:
    """The order of Algorithm 1's tiers, not the sum of pods."""
    before = {2: 1, 1: 3}

    for better in ({2: 2, 1: 0}, before):
        assert is_not_worse(before, better)
    assert is_not_worse({-1: 1}, {0: 1})
    assert not is_not_worse(before, {2: 1, 1: 2})
    assert not is_not_worse({2: 1}, {1: 5})
