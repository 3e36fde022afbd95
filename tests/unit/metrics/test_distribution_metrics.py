"""Spread, Jain's index, top-5 skew, utilisation: numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.distribution import (
    compute_spread,
    compute_top_share,
    jain_index,
)
from stowage_testbed.metrics.record import RunRecord


def loaded(*pods: int, cpu: int = 100) -> RunRecord:
    """Return nodes with so many equal pods each."""
    names = [f"n{number}" for number in range(len(pods))]
    return a_record(
        [
            pod_on(n, cpu=cpu)
            for n, k in zip(names, pods, strict=True)
            for _ in range(k)
        ],
        nodes=[a_node(name) for name in names],
    )


def test_jain_of_known_loads() -> None:
    """(1+2+3)^2 / (3 * 14) = 6/7; all on one of four is 1/4."""
    assert jain_index([1, 2, 3]) == Fraction(6, 7)
    assert jain_index([0, 0, 9, 0]) == Fraction(1, 4)
    assert jain_index([5, 5]) == 1
    # An empty cluster is neither fair nor unfair.
    assert jain_index([]) is jain_index([0, 0]) is None


def test_spread_of_known_loads() -> None:
    """Of 2, 4, 4, 4, 5, 5, 7, 9: mean 5, population deviation 2, CV 0.4."""
    found = compute_spread([2, 4, 4, 4, 5, 5, 7, 9])

    assert found == pytest.approx({"min": 2, "max": 9, "mean": 5, "std": 2, "cv": 0.4})


def test_jain_of_a_resource_weighs_what_is_requested() -> None:
    """One pod of 300 m here, three of 100 m there: uneven in pods, even in cpu."""
    even = by_name(loaded(40, 40, 40, 40, 40))
    assert (even["pods_per_node_cv"].value, even["jain_pods"].value) == (0, 1)
    record = a_record(
        [pod_on("a", cpu=300, memory=GB), *(pod_on("b", memory=GB) for _ in range(3))]
    )
    metrics = by_name(record)

    assert metrics["jain_pods"].value == pytest.approx(16 / 20)
    assert metrics["jain_cpu"].value == 1
    assert metrics["jain_memory"].value == pytest.approx(16 / 20)


def test_jain_between_unequal_nodes_says_what_it_is_of() -> None:
    """Equal amounts on unequal nodes are not equal utilisation."""
    nodes = [a_node("a", cpu=1000), a_node("b", cpu=9000)]
    metrics = by_name(a_record([pod_on("a"), pod_on("b")], nodes=nodes))

    assert metrics["jain_cpu"].value == 1
    assert metrics["jain_cpu"].note == "of amounts, and the nodes are unequal"


def test_top_5_skew_is_the_share_of_the_five_fullest() -> None:
    """10 of 12 pods lie on five of seven nodes; of five nodes it is no finding."""
    metric = by_name(loaded(1, 2, 2, 2, 2, 2, 1))["top5_share_pods"]
    of_five = by_name(loaded(9, 1, 1, 1, 1))["top5_share_pods"]

    assert metric.value == pytest.approx(10 / 12)
    assert compute_top_share([3, 1], 1) == Fraction(3, 4)
    assert of_five.value is None
    assert "more than 5 nodes" in of_five.note


def test_pods_that_left_are_in_no_distribution() -> None:
    """The distribution is of the window's end."""
    metrics = by_name(a_record([pod_on("a"), pod_on("b", bound=1.0, gone=2.0)]))

    assert metrics["pods_per_node_min"].value == 0
    assert metrics["pods_per_node_max"].value == 1


def test_utilisation_at_the_end_its_change_and_its_average() -> None:
    """Of 8 cores: 0.4 all the time, 0.8 more from second 5 of 10 on."""
    record = a_record(
        [pod_on("a", cpu=400), pod_on("b", cpu=800, created=1.0, bound=5.0)]
    )
    metrics = by_name(record)

    assert metrics["utilisation_cpu_end"].value == pytest.approx(0.15)
    assert metrics["utilisation_cpu_delta"].value == pytest.approx(0.1)
    assert metrics["utilisation_cpu_mean"].value == pytest.approx(0.1)
    assert metrics["utilisation_memory_end"].value == pytest.approx(0.25)
    # There for the first quarter, and gone: the change is negative.
    gone = by_name(a_record([pod_on("a", cpu=800, gone=2.5)]))
    assert gone["utilisation_cpu_delta"].value == pytest.approx(-0.1)
    assert gone["utilisation_cpu_mean"].value == pytest.approx(0.025)


def test_nothing_placed_on_no_nodes_has_no_numbers() -> None:
    """A cluster that never came up must not divide by nothing."""
    metrics = by_name(a_record(nodes=[], window_s=0.0))

    assert metrics["utilisation_cpu_end"].value is None
    assert metrics["pods_per_node_mean"].value is None
    assert metrics["jain_memory"].value is None
    assert not any(
        math.isnan(metric.value) for metric in metrics.values() if metric.value
    )
