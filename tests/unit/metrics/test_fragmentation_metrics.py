"""What of the free room can still be used."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from amounts import GPU, taken
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.metrics.fragmentation import (
    compute_fragmentation,
    count_shapes,
    find_free_room,
    find_largest_fit,
)
from stowage_testbed.metrics.record import PodRecord, RunRecord

SMALL = taken(500, GB)
LARGE = taken(2000, 2 * GB)


def waiting(shape: Resources) -> PodRecord:
    return replace(pod_on(), requests=shape)


def lopsided(*more: PodRecord) -> RunRecord:
    """Return node a with cpu and no memory free, node b with memory and no cpu."""
    return a_record(
        [
            pod_on("a", cpu=1000, memory=4 * GB),
            pod_on("b", cpu=4000, memory=1 * GB),
            *more,
        ]
    )


def test_free_room_is_what_bound_pods_leave() -> None:
    """Overcommitted is no negative room: nothing fits, and nothing is owed."""
    record = a_record(
        [pod_on("a", cpu=4500), pod_on("b", gone=1.0), pod_on("b", cpu=1000)]
    )

    room = find_free_room(record)
    assert list(room.free["cpu"]) == [0, 3000]
    assert list(room.free["memory"]) == [3 * GB, 3 * GB]
    assert list(room.free["pods"]) == [109, 109]


def test_stranded_is_what_lies_beside_a_used_up_resource() -> None:
    """3 cores of a without memory; 3 GB of b without cpu, each of 8 in all."""
    record = lopsided(waiting(SMALL))

    assert find_free_room(record).count_stranded(count_shapes(record), "cpu") == 3000
    assert (
        find_free_room(record).count_stranded(count_shapes(record), "memory") == 3 * GB
    )
    assert by_name(record)["stranded_cpu"].value == pytest.approx(3 / 8)
    assert by_name(record)["stranded_memory"].value == pytest.approx(3 / 8)


def test_room_for_the_smallest_shape_is_not_stranded() -> None:
    """500 m and 1 GB are free on one node: whatever needs more, this can be used."""
    record = a_record(
        [
            pod_on("a", cpu=3500, memory=3 * GB),
            pod_on("a", cpu=0, memory=0),
            waiting(SMALL),
        ],
        nodes=[a_node("a")],
    )

    assert find_free_room(record).count_stranded([SMALL], "cpu") == 0
    assert find_free_room(record).count_stranded([SMALL], "memory") == 0


def test_a_node_that_takes_no_more_pods_strands_all_it_has() -> None:
    """KWOK's nodes take 110; a burst of small pods meets that limit first."""
    record = a_record([pod_on("a", cpu=1000)], nodes=[a_node("a", pods=1)])

    assert find_free_room(record).count_stranded(count_shapes(record), "cpu") == 3000
    assert (
        compute_fragmentation(find_free_room(record), count_shapes(record), "cpu") == 1
    )


def test_fragmented_is_what_the_next_pod_cannot_use() -> None:
    """Free are 1 core and 4 GB on a, 3 cores and 3 GB on b; one pod in four is large.

    The large one fits only b: it cannot use a's core of the 4 that are free.
    """
    record = a_record(
        [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    )
    weights = {SMALL: 3, LARGE: 1}

    assert compute_fragmentation(find_free_room(record), weights, "cpu") == Fraction(
        1, 4 * 4
    )
    assert compute_fragmentation(find_free_room(record), weights, "memory") == Fraction(
        4, 4 * 7
    )


def test_the_largest_pod_that_still_fits() -> None:
    """The large shape fits b as long as its 3 cores are there."""
    record = a_record(
        [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    )
    room = find_free_room(record)

    assert find_largest_fit(room, [SMALL, LARGE]) == LARGE
    assert find_largest_fit(room, [SMALL, taken(3500, GB)]) == SMALL
    assert find_largest_fit(room, [taken(3500, GB)]) is None


def test_the_larger_shape_is_the_one_with_the_larger_dominant_share() -> None:
    """Of 8 cores and 8 GB, 3 GB are more than 2 cores."""
    of = [taken(2000, GB), taken(1000, 3 * GB)]

    assert find_largest_fit(find_free_room(a_record()), of) == of[1]


def test_a_full_cluster_has_no_room_and_says_so() -> None:
    """0 is the finding; the note distinguishes it from a missing one."""
    metrics = by_name(a_record([pod_on("a", cpu=4000), pod_on("b", cpu=4000)]))

    assert metrics["largest_free_cpu_milli"].value == 0
    assert metrics["largest_free_memory_bytes"].value == 3 * GB
    assert metrics["largest_fit_cpu_milli"].value == 0
    assert "no pod of the scenario fits" in metrics["largest_fit_cpu_milli"].note
    assert metrics["fragmented_cpu"].value is None
    assert metrics["fragmented_memory"].value == 1


def with_gpus(*more: PodRecord) -> RunRecord:
    """Return node a with 4 GPUs and no cpu free, b with both, c without GPUs."""
    return a_record(
        [
            pod_on("a", cpu=4000),
            pod_on("b", cpu=1000, gpus=1),
            *more,
        ],
        nodes=[a_node("a", gpus=4), a_node("b", gpus=4), a_node("c")],
    )


def test_gpus_without_a_core_beside_them_are_stranded() -> None:
    """They are what nodes are bought for: 4 of 8 lie beside cores that are taken."""
    metrics = by_name(with_gpus())

    assert metrics[f"stranded_{GPU}"].value == pytest.approx(4 / 8)
    assert metrics[f"fragmented_{GPU}"].value == pytest.approx(4 / 7)
    assert metrics[f"largest_free_{GPU}"].value == 4
    assert metrics[f"largest_free_{GPU}"].unit == "units"
    assert metrics["stranded_cpu"].value == 0


def test_pods_that_want_no_gpu_leave_it_stranded() -> None:
    """A web server that still fits beside an idle GPU is no use of it."""
    small, large = pod_on(cpu=10), pod_on(cpu=4000, gpus=1)
    record = a_record(
        [pod_on("a", cpu=1000), small, large], nodes=[a_node("a", gpus=2)]
    )

    assert find_free_room(record).count_stranded(count_shapes(record), GPU) == 2
    assert find_free_room(record).count_stranded([small.requests], GPU) == 0


def test_a_pod_that_wants_what_no_node_has_fits_nowhere() -> None:
    """It is the pod that nobody can help by packing."""
    record = a_record([pod_on(gpus=1)])
    largest = by_name(record)["largest_fit_cpu_milli"]

    assert not find_free_room(record).fits(taken(1, 1, {GPU: 1})).any()
    assert "no pod of the scenario fits" in largest.note
