"""What of the free room can still be used."""

from __future__ import annotations

from fractions import Fraction

import pytest
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.fragmentation import (
    Shape,
    fragmented,
    free_room,
    largest_fit,
    shapes,
    stranded,
)
from stowage_testbed.metrics.record import PodRecord, RunRecord

SMALL = Shape(500, GB)
LARGE = Shape(2000, 2 * GB)


def waiting(shape: Shape) -> PodRecord:
    return pod_on(cpu=shape.cpu_milli, memory=shape.memory_bytes)


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

    room = free_room(record)
    assert list(room.free["cpu"]) == [0, 3000]
    assert list(room.free["memory"]) == [3 * GB, 3 * GB]
    assert list(room.pods) == [109, 109]


def test_stranded_is_what_lies_beside_a_used_up_resource() -> None:
    """3 cores of a without memory; 3 GB of b without cpu, each of 8 in all."""
    record = lopsided(waiting(SMALL))

    assert stranded(free_room(record), shapes(record), "cpu") == 3000
    assert stranded(free_room(record), shapes(record), "memory") == 3 * GB
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

    assert stranded(free_room(record), [SMALL], "cpu") == 0
    assert stranded(free_room(record), [SMALL], "memory") == 0


def test_a_node_that_takes_no_more_pods_strands_all_it_has() -> None:
    """KWOK's nodes take 110; a burst of small pods meets that limit first."""
    record = a_record([pod_on("a", cpu=1000)], nodes=[a_node("a", pods=1)])

    assert stranded(free_room(record), shapes(record), "cpu") == 3000
    assert fragmented(free_room(record), shapes(record), "cpu") == 1


def test_fragmented_is_what_the_next_pod_cannot_use() -> None:
    """Free are 1 core and 4 GB on a, 3 cores and 3 GB on b; one pod in four is large.

    The large one fits only b: it cannot use a's core of the 4 that are free.
    """
    record = a_record(
        [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    )
    weights = {SMALL: 3, LARGE: 1}

    assert fragmented(free_room(record), weights, "cpu") == Fraction(1, 4 * 4)
    assert fragmented(free_room(record), weights, "memory") == Fraction(4, 4 * 7)


def test_the_largest_pod_that_still_fits() -> None:
    """The large shape fits b as long as its 3 cores are there."""
    record = a_record(
        [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    )
    room = free_room(record)

    assert largest_fit(room, [SMALL, LARGE]) == LARGE
    assert largest_fit(room, [SMALL, Shape(3500, GB)]) == SMALL
    assert largest_fit(room, [Shape(3500, GB)]) is None


def test_the_larger_shape_is_the_one_with_the_larger_dominant_share() -> None:
    """Of 8 cores and 8 GB, 3 GB are more than 2 cores."""
    of = [Shape(2000, GB), Shape(1000, 3 * GB)]

    assert largest_fit(free_room(a_record()), of) == of[1]


def test_a_full_cluster_has_no_room_and_says_so() -> None:
    """0 is the finding; the note distinguishes it from a missing one."""
    metrics = by_name(a_record([pod_on("a", cpu=4000), pod_on("b", cpu=4000)]))

    assert metrics["largest_free_cpu_milli"].value == 0
    assert metrics["largest_free_memory_bytes"].value == 3 * GB
    assert metrics["largest_fit_cpu_milli"].value == 0
    assert "no pod of the scenario fits" in metrics["largest_fit_cpu_milli"].note
    assert metrics["fragmented_cpu"].value is None
    assert metrics["fragmented_memory"].value == 1
