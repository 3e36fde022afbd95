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
    """Figure 1: 4 of 8 GB before, 7 of 8 GB after."""
    assert compute_utilisation(figure_1()) == {
        "cpu": Fraction(1, 40),
        "memory": Fraction(1, 2),
    }
    assert compute_utilisation(figure_1("b"))["memory"] == Fraction(7, 8)


def test_utilisation_of_no_nodes_is_zero() -> None:
    """A cluster that is just being torn down must not divide by nothing."""
    empty = ClusterState((), ())
    assert compute_utilisation(empty) == {"cpu": Fraction(0), "memory": Fraction(0)}


def test_placed_by_priority_names_priorities_without_a_bound_pod() -> None:
    """A priority that got nothing is the thing to see."""
    assert count_placed_by_priority(figure_1()) == {2: 0, 1: 2}
    assert list(count_placed_by_priority(figure_1())) == [2, 1]


def test_placements_are_counted_by_what_an_author_knows() -> None:
    """Names of pods are random, and nodes that are equal may be exchanged."""
    before, after = figure_1(), figure_1("b")

    assert count_pods_per_node(before) == {"a": 1, "b": 1}
    assert count_pods_per_node(replace(before, pods=())) == {"a": 0, "b": 0}
    assert (count_pending_by_workload(before), count_pending_by_workload(after)) == (
        {"third": 1},
        {},
    )
    assert list_placements(after) == {
        "first": ("a",),
        "second": ("a",),
        "third": ("b",),
    }
    assert list_groups(after) == (("first", "second"), ("third",))


def test_the_placement_hash_is_a_known_value() -> None:
    """Bundles are compared by it: it is sha256sum of the three lines, for ever.

    A pod that lost its node is a different placement.
    """
    assert hash_placement(figure_1()) == (
        "02964a7ac652ea9e851bd96df5843dac2db01614041cc9c14b12ba9a78528a3f"
    )
    assert hash_placement(figure_1()) != hash_placement(figure_1("b"))


def test_the_placement_hash_ignores_order_and_pod_names() -> None:
    """Two runs give ReplicaSet pods other names and list them in another order."""
    pods = [
        PodState("w", node, taken(1, 1), name=f"w-{i}")
        for i, node in enumerate(["a", "b", "a"])
    ]
    renamed = [
        PodState("w", pod.node, taken(1, 1), name=f"x-{i}")
        for i, pod in enumerate(pods)
    ]
    renamed.reverse()
    assert hash_placement(ClusterState((), tuple(pods))) == hash_placement(
        ClusterState((), tuple(renamed))
    )


@pytest.mark.parametrize(
    ("rank", "value"), [(50, 50), (90, 90), (95, 95), (99, 99), (0, 1), (50.5, 51)]
)
def test_percentiles_are_nearest_rank(rank: float, value: int) -> None:
    """The nearest-rank percentile is a sample that occurred, never a mean of two."""
    samples = [float(n) for n in range(100, 0, -1)]
    found = percentile(samples, rank)
    assert (found.value, found.n) == (value, 100)


def test_a_p99_of_too_few_samples_is_refused_with_the_reason() -> None:
    """With n < 100 a p99 is the maximum, which says nothing of the tail."""
    found = percentile([1.0] * 99, 99)
    assert (found.value, found.n) == (None, 99)
    assert found.reason == "p99 needs n >= 100, got 99"
    assert percentile([1.0] * 19, 95).value is None
    assert percentile([], 50).value is None
    assert percentile([1.0] * 20, 95).value == 1.0


def test_the_hundredth_percentile_is_no_percentile() -> None:
    """It would need infinitely many samples; `max` is its name."""
    with pytest.raises(ValueError, match="not including, 100"):
        percentile([1.0], 100)


@pytest.mark.parametrize(
    ("before", "after", "holds"),
    [
        ({2: 1, 1: 3}, {2: 2, 1: 0}, True),
        ({2: 1, 1: 3}, {2: 1, 1: 2}, False),
        ({2: 1, 1: 3}, {2: 1, 1: 3}, True),
        ({2: 1}, {1: 5}, False),
        ({-1: 1}, {0: 1}, True),
    ],
)
def test_the_highest_priority_that_differs_decides(
    before: dict[int, int], after: dict[int, int], holds: bool
) -> None:
    """The order of Algorithm 1's tiers, not the sum of pods."""
    assert is_not_worse(before, after) is holds
