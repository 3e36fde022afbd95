"""Pods a second, and the queue."""

from __future__ import annotations

import pytest
from run_records import a_record, by_name, pod_on

from stowage_testbed.metrics.over_time import count_waiting
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.metrics.throughput import compute_throughput


def burst(*bound_s: float) -> RunRecord:
    """Return pods that were created after one second and bound at these moments."""
    return a_record([pod_on("a", created=1.0, bound=moment) for moment in bound_s])


def test_overall_throughput_is_from_first_creation_to_last_binding() -> None:
    """Not to the window's end: how long nothing happens afterwards is no matter."""
    record = a_record(
        [
            pod_on("a", created=1.0, bound=1.5),
            pod_on("a", created=2.0, bound=3.0),
            pod_on(created=9.0),
        ],
        resolution_s=0.01,
    )

    metric = by_name(record)["throughput_pods_per_s"]
    assert (metric.value, metric.n) == (1.0, 2)
    assert metric.resolution == pytest.approx(0.005)


def test_seconds_in_which_nothing_was_bound_count() -> None:
    """To leave them out would let a scheduler that stalls look steady."""
    found = compute_throughput(burst(1.1, 1.2, 1.3, 3.5, 4.0, 4.1, 5.5))

    assert found is not None
    assert found.per_second == (3, 0, 1, 2, 1)
    assert found.whole_seconds == (3, 0, 1, 2)


def test_peak_and_median_are_of_seconds() -> None:
    """Of 3, 0, 1, 2 the median is 1.5; a second cut short counts for the peak only."""
    metrics = by_name(burst(1.1, 1.2, 1.3, 3.5, 4.0, 4.1, 5.1, 5.1, 5.1, 5.1))

    assert metrics["throughput_median_pods_per_s"].value == 1.5
    assert metrics["throughput_median_pods_per_s"].n == 4
    assert metrics["throughput_peak_pods_per_s"].value == 4


def test_a_burst_within_a_second_has_no_pods_in_a_second() -> None:
    """200 pods in 0.4 s are 500 pods/s, not the 200 that one bin would show."""
    record = a_record([pod_on("a", created=0.0, bound=n / 500) for n in range(1, 201)])
    metrics = by_name(record)

    assert metrics["throughput_pods_per_s"].value == pytest.approx(500)
    assert metrics["throughput_peak_pods_per_s"].value is None
    assert metrics["throughput_median_pods_per_s"].note == (
        "needs 3 whole seconds, got 0"
    )


def test_no_time_no_rate() -> None:
    """Bound at first sight: the receipt clock saw one moment."""
    assert by_name(burst(1.0))["throughput_pods_per_s"].value is None
    assert by_name(a_record())["throughput_pods_per_s"].note == "no time passed"


def test_waiting_pods_are_counted_from_creation_to_binding() -> None:
    """Three pods for 1, 2 and 1 seconds, the last of them without a node to the end."""
    record = a_record(
        [
            pod_on("a", created=0.0, bound=1.0),
            pod_on("a", created=0.5, bound=2.5),
            pod_on(created=3.0),
        ],
        window_s=4.0,
    )

    line = count_waiting(record)
    assert line.times_s == (0.0, 0.5, 1.0, 2.5, 3.0, 4.0)
    assert line.values == (1, 2, 1, 0, 1, 0)
    assert by_name(record)["waiting_mean_pods"].value == pytest.approx(1.0)
    assert by_name(record)["waiting_peak_pods"].value == 2
    # One left unbound; one waited before the window began, and waits from its start.
    record = a_record([pod_on(gone=1.0), pod_on("a", bound=3.0)], window_s=4.0)
    assert by_name(record)["waiting_mean_pods"].value == pytest.approx(1.0)
