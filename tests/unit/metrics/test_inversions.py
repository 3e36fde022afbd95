"""Priority inversions: which pairs count, and which do not."""

from __future__ import annotations

import pytest
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.inversions import Inversions, count_inversions
from stowage_testbed.metrics.record import PodRecord


def low(bound: float = 5.0) -> PodRecord:
    return pod_on("a", created=1.0, bound=bound, priority=1)


def pairs(*pods: PodRecord) -> int:
    return count_inversions(a_record(pods, resolution_s=0.01)).pairs


def test_a_pod_bound_before_a_more_important_one_that_waited() -> None:
    """The plain case, whether the other is bound later or never."""
    assert pairs(low(), pod_on("b", created=2.0, bound=6.0, priority=2)) == 1
    assert pairs(low(), pod_on(created=2.0, priority=2)) == 1
    assert pairs(low(), pod_on(priority=2)) == 1


@pytest.mark.parametrize(
    "high",
    [
        pod_on("b", created=2.0, bound=4.0, priority=2),
        pod_on("b", created=5.5, bound=6.0, priority=2),
        pod_on(created=2.0, gone=4.0, priority=2),
        pod_on("b", priority=2),
        pod_on("b", created=2.0, bound=6.0, priority=1),
    ],
    ids=["was bound", "was not there yet", "had gone", "had a node", "no higher"],
)
def test_who_did_not_wait_was_not_overtaken(high: PodRecord) -> None:
    """Each of these pods could not, or need not, have had the place."""
    assert pairs(low(), high) == 0


@pytest.mark.parametrize(("created", "bound"), [(2.0, 5.005), (4.995, 6.0)])
def test_moments_closer_than_the_resolution_have_no_order(
    created: float, bound: float
) -> None:
    """Bindings are sent at the same time by many hands; their order is no decision."""
    assert pairs(low(), pod_on("b", created=created, bound=bound, priority=2)) == 0


def test_who_would_not_have_fitted_was_not_overtaken() -> None:
    """Small pods fill the gaps beside a large one: backfilling is no inversion."""
    assert pairs(low(), pod_on(created=2.0, priority=2, cpu=4001)) == 0
    assert pairs(low(), pod_on(created=2.0, priority=2, memory=5 * GB)) == 0


def test_room_is_room_of_all_that_is_asked_for() -> None:
    """A pod that needs a GPU was not overtaken on a node without a free one."""
    high = pod_on(created=2.0, priority=2, gpus=1)

    def pairs_beside(*there: PodRecord, gpus: int) -> int:
        nodes = [a_node("a", gpus=gpus)]
        return count_inversions(a_record([low(), high, *there], nodes=nodes)).pairs

    assert pairs_beside(gpus=1) == 1
    assert pairs_beside(gpus=0) == 0
    assert pairs_beside(pod_on("a", gpus=1), gpus=1) == 0


def test_room_is_the_nodes_room_at_that_moment() -> None:
    """What stood there then counts, what left before or came after does not."""
    high = pod_on(created=2.0, priority=2, cpu=3000)

    assert pairs(low(), high, pod_on("a", cpu=1500)) == 0
    assert pairs(low(), high, pod_on("a", cpu=1500, gone=4.0)) == 1
    later = pod_on("a", cpu=1500, created=5.5, bound=6.0, priority=2)
    assert pairs(low(), high, later) == 1


def test_a_node_without_a_free_pod_slot_had_no_room() -> None:
    """An overfull record must not invent room."""
    record = a_record(
        [low(), pod_on("a"), pod_on(created=2.0, priority=2)],
        nodes=[a_node("a", pods=1)],
    )

    assert count_inversions(record).pairs == 0


def test_pairs_and_bindings_that_overtook_are_distinguished() -> None:
    """Two low pods before the same three high ones: six pairs, two bindings."""
    high = [pod_on("b", created=2.0, bound=8.0, priority=2) for _ in range(3)]
    record = a_record([low(4.0), low(5.0), *high])

    assert count_inversions(record) == Inversions(pairs=6, overtaking=2, bindings=5)
    assert by_name(record)["priority_inversions_pairs"].value == 6
    assert by_name(record)["priority_inversions_pods"].value == 2


def test_one_priority_is_said_to_be_one() -> None:
    """None found is no praise where none was possible."""
    metric = by_name(a_record([low()]))["priority_inversions_pairs"]

    assert (metric.value, metric.note) == (0, "all pods have one priority")
