"""The metrics of runs, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from amounts import GPU, taken
from run_records import GB, a_node, a_record, by_name, pod_on

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.distribution import jain_index
from stowage_testbed.metrics.fragmentation import (
    compute_fragmentation,
    find_free_room,
    find_largest_fit,
)
from stowage_testbed.metrics.inversions import Inversions, count_inversions
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import StepLine, count_waiting
from stowage_testbed.metrics.record import (
    PodRecord,
    RunRecord,
    read_record,
    write_record,
)
from stowage_testbed.metrics.state import NodeState

SMALL, LARGE = taken(500, GB), taken(2000, 2 * GB)


def waiting(cpu: int, memory: int = GB, gpus: int = 0) -> PodRecord:
    return pod_on(cpu=cpu, memory=memory, gpus=gpus)


def burst(*bound_s: float) -> RunRecord:
    """Return pods that were created after one second and bound at these moments."""
    return a_record([pod_on("a", created=1.0, bound=moment) for moment in bound_s])


def loaded(*pods: int) -> RunRecord:
    """Return nodes with so many equal pods each."""
    names = [f"n{number}" for number in range(len(pods))]
    there = [pod_on(n) for n, k in zip(names, pods, strict=True) for _ in range(k)]
    return a_record(there, nodes=[a_node(name) for name in names])


EMPTY = a_record(nodes=[], window_s=0.0)
THREE = a_record(
    [
        pod_on("a", created=1.0, bound=1.25, ready=2.0),
        pod_on("b", created=1.0, bound=1.75),
        pod_on(created=2.0),
    ],
    resolution_s=0.002,
)
WITH_GPUS = a_record(
    [pod_on("a", cpu=4000), pod_on("b", cpu=1000, gpus=1)],
    nodes=[a_node("a", gpus=4), a_node("b", gpus=4), a_node("c")],
)
FULL = a_record([pod_on("a", cpu=4000), pod_on("b", cpu=4000)])
BEATEN = a_record([pod_on("a")], bound_placed=0)
UNEQUAL = a_record(
    [pod_on("a"), pod_on("b")], nodes=[a_node("a", cpu=1000), a_node("b", cpu=9000)]
)
OVERALL = a_record(
    [pod_on("a", created=1.0, bound=1.5), pod_on("a", created=2.0, bound=3.0),
     pod_on(created=9.0)], resolution_s=0.01)  # fmt: skip
CLOCKS = a_record(
    [replace(pod_on("a", created=0.5, bound=1.0), watch_t_sched_s=0.7),
     replace(pod_on("a", bound=1.0), watch_t_sched_s=0.1)],
    audit_lag_s=0.003, audit_beyond=1, answers_late_s=0.002, watch_resolution_s=0.05,
    peak_memory_bytes=64 * 2**20, cpu_s=1.25)  # fmt: skip

VALUES: dict[str, tuple[RunRecord, dict[str, float | None]]] = {
    "each latency lies between its own two moments": (THREE, {
        "t_sched_p50_s": 0.25, "t_sched_max_s": 0.75, "t_sched_missing_pods": 1,
        "t_ready_mean_s": 1.0, "t_post_mean_s": 0.75, "t_post_missing_pods": 1}),
    # Nobody saw it begin to wait; what happened to it in the window is its T_post.
    "a pod that was there before is neither sample nor missing": (
        a_record([pod_on("a", bound=1.0, ready=1.5), pod_on("a")]), {
        "t_sched_mean_s": None, "t_sched_missing_pods": 0, "t_ready_mean_s": None,
        "t_ready_missing_pods": 0, "t_post_mean_s": 0.5, "t_post_missing_pods": 0}),
    # Of 0.01 s to 2.00 s the p99 is the 198th.
    "percentiles are the nearest rank": (
        a_record(pod_on("a", created=0, bound=n / 100) for n in range(1, 201)), {
        "t_sched_p50_s": 1.0, "t_sched_p90_s": 1.8, "t_sched_p95_s": 1.9,
        "t_sched_p99_s": 1.98, "t_sched_mean_s": 1.005}),
    # Of 3, 0, 1, 2 the median is 1.5; to leave out 0 would make a stall look steady.
    "peak and median are of whole seconds": (
        burst(1.1, 1.2, 1.3, 3.5, 4.0, 4.1, 5.5), {
        "throughput_peak_pods_per_s": 3, "throughput_median_pods_per_s": 1.5}),
    "a second cut short counts for the peak": (
        burst(1.1, 1.2, 1.3, 3.5, 4.0, 4.1, 5.1, 5.1, 5.1, 5.1), {
        "throughput_peak_pods_per_s": 4, "throughput_median_pods_per_s": 1.5}),
    # 200 pods in 0.4 s are 500 pods/s, not the 200 that one bin would show.
    "a burst within a second has no pods in a second": (
        a_record(pod_on("a", created=0, bound=n / 500) for n in range(1, 201)), {
        "throughput_pods_per_s": 500, "throughput_peak_pods_per_s": None}),
    "pods wait from the window's start, and to its end": (
        a_record([pod_on(gone=1.0), pod_on("a", bound=3.0)], window_s=4.0), {
        "waiting_mean_pods": 1.0, "waiting_peak_pods": 2}),
    # Mean 5, population deviation 2.
    "spread": (loaded(2, 4, 4, 4, 5, 5, 7, 9), {
        "pods_per_node_min": 2, "pods_per_node_max": 9, "pods_per_node_mean": 5,
        "pods_per_node_std": 2, "pods_per_node_cv": 0.4}),
    "even load": (loaded(40, 40, 40, 40, 40), {
        "pods_per_node_cv": 0, "jain_pods": 1, "jain_cpu": 1}),
    # One pod of 300 m here, three of 100 m there.
    "Jain of a resource weighs what is requested": (
        a_record([pod_on("a", cpu=300), *(pod_on("b") for _ in range(3))]), {
        "jain_pods": 16 / 20, "jain_cpu": 1, "jain_memory": 16 / 20}),
    "10 of 12 pods lie on five of seven nodes": (loaded(1, 2, 2, 2, 2, 2, 1), {
        "top5_share_pods": 10 / 12}),
    "pods that left are in no distribution": (
        a_record([pod_on("a"), pod_on("b", bound=1.0, gone=2.0)]), {
        "pods_per_node_min": 0, "pods_per_node_max": 1}),
    # Of 8 cores: 0.4 all the time, 0.8 more from second 5 of 10 on.
    "utilisation at the end, its change and its average": (
        a_record([pod_on("a", cpu=400), pod_on("b", cpu=800, created=1, bound=5)]), {
        "utilisation_cpu_end": 0.15, "utilisation_cpu_delta": 0.1,
        "utilisation_cpu_mean": 0.1, "utilisation_memory_end": 0.25}),
    "there for the first quarter, and gone": (
        a_record([pod_on("a", cpu=800, gone=2.5)]), {
        "utilisation_cpu_delta": -0.1, "utilisation_cpu_mean": 0.025}),
    "nothing placed on no nodes has no numbers": (EMPTY, {
        "utilisation_cpu_end": None, "utilisation_cpu_mean": None,
        "pods_per_node_mean": None, "pods_per_node_cv": None, "jain_memory": None,
        "stranded_cpu": None, "largest_free_cpu_milli": None}),
    # 3 cores of a without memory; 3 GB of b without cpu, each of 8 in all.
    "what lies beside a used up resource is stranded": (
        a_record([pod_on("a", cpu=1000, memory=4 * GB), pod_on("b", cpu=4000),
                  waiting(500)]), {
        "stranded_cpu": 3 / 8, "stranded_memory": 3 / 8}),
    "room for the smallest shape is not": (
        a_record([pod_on("a", cpu=3500, memory=3 * GB), waiting(500)],
                 nodes=[a_node("a")]), {
        "stranded_cpu": 0, "stranded_memory": 0}),
    # KWOK's nodes take 110; a burst of small pods meets that limit first.
    "a node that takes no more pods strands all it has": (
        a_record([pod_on("a", cpu=1000)], nodes=[a_node("a", pods=1)]), {
        "stranded_cpu": 3 / 4, "fragmented_cpu": 1}),
    "a full cluster has no room": (FULL, {
        "largest_free_cpu_milli": 0, "largest_free_memory_bytes": 3 * GB,
        "largest_fit_cpu_milli": 0, "fragmented_cpu": None, "fragmented_memory": 1}),
    # They are what nodes are bought for: 4 of 8 lie beside cores that are taken.
    "GPUs without a core beside them are stranded": (WITH_GPUS, {
        f"stranded_{GPU}": 4 / 8, f"fragmented_{GPU}": 4 / 7, "stranded_cpu": 0}),
    # A web server that still fits beside an idle GPU is no use of it.
    "pods that want no GPU leave it stranded": (
        a_record([pod_on("a", cpu=1000), waiting(10), waiting(4000, gpus=1)],
                 nodes=[a_node("a", gpus=2)]), {f"stranded_{GPU}": 1}),
    "a GPU that nobody wants is idle": (
        a_record([pod_on("a"), waiting(10)], nodes=[a_node("a", gpus=2)]), {
        f"stranded_{GPU}": 0}),
    "gap, moves and evictions are read off": (
        a_record([pod_on("a"), pod_on("b"), pod_on(), pod_on("a", gone=1.0)],
                 bound_placed=3, moves=4, evictions=5), {
        "placed_pods": 2, "unplaced_pods": 1, "gap_to_bound_pods": 1,
        "moves_pods": 4, "evictions_pods": 5}),
    "the clocks are among the metrics": (CLOCKS, {
        "watch_lag_median_s": 0.003, "clocks_apart_events": 1,
        "answers_late_p90_s": 0.002}),
    # A footprint of 0 bytes would be the best of all.
    "what was not measured has no value": (a_record(), {
        "gap_to_bound_pods": None, "scheduler_cpu_s": None,
        "watch_lag_median_s": None, "jain_pods": None}),
}  # fmt: skip


@pytest.mark.parametrize("what", VALUES)
def test_metrics_have_the_values_that_are_worked_out_by_hand(what: str) -> None:
    """Whoever compares two runs compares these."""
    record, values = VALUES[what]
    found = by_name(record)

    assert {name: found[name].value for name in values} == pytest.approx(values)


FEW = "p90 needs n >= 10, got 2; 1 of 3 pods have none"
BOUND = "more than proved possible: the bound is wrong"
NO_FIT = "no pod of the scenario fits any node"
FIVE = "needs more than 5 nodes and a pod"
SECONDS = "needs 3 whole seconds, got 0"
APART = "of amounts, and the nodes are unequal"
ONE = "all pods have one priority"
WHOLE = [
    (THREE, Metric(
        "t_sched_mean_s", 0.5, "s", "lower", 2, 0.002, "1 of 3 pods have none")),
    (THREE, Metric("t_sched_p90_s", None, "s", "lower", 2, 0.002, FEW)),
    (THREE, Metric("t_ready_missing_pods", 2, "pods", "lower", 3, 1)),
    (burst(), Metric("t_sched_mean_s", None, "s", "lower", 0, 0.001, "no samples")),
    (OVERALL, Metric("throughput_pods_per_s", 1, "pods/s", "higher", 2, 0.005)),
    (burst(1.0), Metric(
        "throughput_pods_per_s", None, "pods/s", "higher", 1, 0, "no time passed")),
    (burst(1.5), Metric(
        "throughput_median_pods_per_s", None, "pods/s", "higher", 0, 1, SECONDS)),
    (UNEQUAL, Metric("jain_cpu", 1, "index", "higher", 2, 0, APART)),
    (loaded(9, 1, 1, 1, 1), Metric(
        "top5_share_pods", None, "ratio", "lower", 5, 0, FIVE)),
    (FULL, Metric("largest_fit_cpu_milli", 0, "milli", "higher", 2, 1, NO_FIT)),
    # It is the pod that nobody can help by packing.
    (a_record([pod_on(gpus=1)]), Metric(
        "largest_fit_cpu_milli", 0, "milli", "higher", 2, 1, NO_FIT)),
    (WITH_GPUS, Metric(f"largest_free_{GPU}", 4, "units", "higher", 3, 1)),
    # A negative gap is no triumph of a scheduler but a fault of a proof.
    (BEATEN, Metric("gap_to_bound_pods", -1, "pods", "lower", 1, 1, BOUND)),
    (CLOCKS, Metric(
        "scheduler_memory_peak_bytes", 64 * 2**20, "bytes", "lower", 1, 4096)),
    (CLOCKS, Metric("scheduler_cpu_s", 1.25, "s", "lower", 1, 0.01)),
    (CLOCKS, Metric("t_sched_watch_mean_s", 0.7, "s", "lower", 1, 0.05)),
    # None found is no praise where none was possible.
    (a_record([pod_on("a", bound=1.0)]), Metric(
        "priority_inversions_pairs", 0, "pairs", "lower", 1, 1, ONE)),
]  # fmt: skip


@pytest.mark.parametrize(("record", "metric"), WHOLE, ids=lambda one: getattr(one, "name", ""))
def test_a_metric_says_how_far_it_can_be_trusted(
    record: RunRecord, metric: Metric
) -> None:
    """A scheduler that leaves the hard pods waiting must not look like the fastest."""
    assert by_name(record)[metric.name] == metric


def test_every_record_has_the_same_metrics_in_the_same_order() -> None:
    """Rows of two runs are put side by side by their place, and carry their unit."""
    full = metrics_of(a_record([pod_on("a", bound=1.0)]))
    units = {"pods/s": "_pods_per_s", "ratio": "", "index": ""}

    assert [m.name for m in metrics_of(EMPTY)] == [m.name for m in full]
    for metric in full:
        if not metric.name.startswith("pods_per_node"):
            assert metric.name.endswith(units.get(metric.unit, f"_{metric.unit}"))


@pytest.mark.parametrize(
    "record", [a_record(), a_record(nodes=[]), a_record([pod_on(created=1.0)])]
)
def test_what_has_no_value_says_why(record: RunRecord) -> None:
    """A gap in a table without a reason is taken for a fault of the table."""
    assert [m for m in metrics_of(record) if m.value is None and not m.note] == []


def test_a_run_that_failed_has_no_values() -> None:
    """Half of a burst must not win a comparison of throughput."""
    record = a_record([pod_on("a", created=0.0, bound=1.0)], error="two pods are lost")

    assert {(metric.value, metric.note) for metric in metrics_of(record)} == {
        (None, "the run failed: two pods are lost")
    }


def test_a_record_survives_its_own_document() -> None:
    """Tables are made again from bundles, without a cluster."""
    record = a_record([pod_on("a", created=0.5, bound=1.0)], cpu_s=1.5, warm=True)

    assert read_record(write_record(record)) == record


def test_jain_of_known_loads() -> None:
    """(1+2+3)^2 / (3 * 14) = 6/7; all on one of four is 1/4."""
    assert jain_index([1, 2, 3]) == Fraction(6, 7)
    assert jain_index([0, 0, 9, 0]) == Fraction(1, 4)


def test_waiting_pods_are_counted_from_creation_to_binding() -> None:
    """Three pods for 1, 2 and 1 seconds, the last of them without a node to the end."""
    spans = [pod_on("a", created=0.0, bound=1.0), pod_on("a", created=0.5, bound=2.5)]
    line = count_waiting(a_record([*spans, pod_on(created=3.0)], window_s=4.0))

    assert line == StepLine((0.0, 0.5, 1.0, 2.5, 3.0, 4.0), (1, 2, 1, 0, 1, 0))
    assert (line.mean(4.0), line.peak) == (1.0, 2)


def test_free_room_is_what_bound_pods_leave() -> None:
    """Overcommitted is no negative room: nothing fits, and nothing is owed."""
    record = a_record(
        [pod_on("a", cpu=4500), pod_on("b", gone=1.0), pod_on("b", cpu=1000)]
    )

    room = find_free_room(record)
    assert {name: list(amounts) for name, amounts in room.free.items()} == {
        "cpu": [0, 3000], "memory": [3 * GB, 3 * GB], "pods": [109, 109],
    }  # fmt: skip


def test_fragmented_is_what_the_next_pod_cannot_use() -> None:
    """Free are 1 core and 4 GB on a, 3 cores and 3 GB on b; one pod in four is large.

    The large one fits only b: it cannot use a's core of the 4 that are free.
    """
    pods = [pod_on("a", cpu=3000, memory=0), pod_on("b", cpu=1000, memory=GB)]
    room, weights = find_free_room(a_record(pods)), {SMALL: 3, LARGE: 1}

    assert compute_fragmentation(room, weights, "cpu") == Fraction(1, 4 * 4)
    assert compute_fragmentation(room, weights, "memory") == Fraction(4, 4 * 7)
    assert find_largest_fit(room, [SMALL, LARGE]) == LARGE
    assert find_largest_fit(room, [SMALL, taken(3500, GB)]) == SMALL
    assert find_largest_fit(room, [taken(3500, GB)]) is None
    # Of 8 cores and 8 GB, 3 GB are more than 2 cores.
    more = taken(1000, 3 * GB)
    assert find_largest_fit(find_free_room(a_record()), [LARGE, more]) == more


def low(bound: float = 5.0) -> PodRecord:
    return pod_on("a", created=1.0, bound=bound, priority=1)


def high(
    node: str = "", bound: float | None = None, created: float = 2.0, **more: int
) -> PodRecord:
    return pod_on(node, created=created, bound=bound, priority=2, **more)


def there(gone: float | None = None, **asked: int) -> PodRecord:
    return pod_on("a", gone=gone, **asked)


LATER = pod_on("a", cpu=1500, created=5.5, bound=6.0, priority=2)
NODE, WITH_GPU, OF_ONE_POD = a_node("a"), a_node("a", gpus=1), a_node("a", pods=1)


@pytest.mark.parametrize(
    ("node", "others", "pairs"),
    [
        (NODE, [high("b", 6.0)], 1),
        (NODE, [high()], 1),
        (NODE, [pod_on(priority=2)], 1),
        # Who did not wait was not overtaken.
        (NODE, [high("b", 4.0)], 0),
        (NODE, [high("b", 6.0, created=5.5)], 0),
        (NODE, [pod_on(created=2.0, gone=4.0, priority=2)], 0),
        (NODE, [pod_on("b", priority=2)], 0),
        (NODE, [pod_on("b", created=2.0, bound=6.0, priority=1)], 0),
        # Moments closer than the resolution have no order.
        (NODE, [high("b", 5.005)], 0),
        (NODE, [high("b", 6.0, created=4.995)], 0),
        # Small pods fill the gaps beside a large one: backfilling is no inversion.
        (NODE, [high(cpu=4001)], 0),
        (NODE, [high(memory=5 * GB)], 0),
        # Room is room of all that is asked for.
        (WITH_GPU, [high(gpus=1)], 1),
        (NODE, [high(gpus=1)], 0),
        (WITH_GPU, [high(gpus=1), there(gpus=1)], 0),
        # What stood there then counts, what left before or came after does not.
        (NODE, [high(cpu=3000), there(cpu=1500)], 0),
        (NODE, [high(cpu=3000), there(cpu=1500, gone=4.0)], 1),
        (NODE, [high(cpu=3000), LATER], 1),
        # An overfull record must not invent room.
        (OF_ONE_POD, [high(), there()], 0),
    ],
)
def test_an_inversion_is_a_pod_before_a_more_important_one_that_fitted(
    node: NodeState, others: list[PodRecord], pairs: int
) -> None:
    """Whether the other is bound later or never, if it could have had the place."""
    record = a_record([low(), *others], nodes=[node], resolution_s=0.01)

    assert count_inversions(record).pairs == pairs


def test_pairs_and_bindings_that_overtook_are_distinguished() -> None:
    """Two low pods before the same three high ones: six pairs, two bindings."""
    record = a_record([low(4.0), low(5.0), *(high("b", 8.0) for _ in range(3))])
    found = by_name(record)

    assert count_inversions(record) == Inversions(pairs=6, overtaking=2, bindings=5)
    assert found["priority_inversions_pairs"].value == 6
    assert found["priority_inversions_pods"].value == 2
