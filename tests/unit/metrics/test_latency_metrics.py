"""T_sched, T_ready, T_post and what they lack."""

from __future__ import annotations

import pytest
from run_records import a_record, by_name, pod_on

from stowage_testbed.metrics.latency import (
    Latencies,
    measure_t_post,
    measure_t_ready,
    measure_t_sched,
)

THREE = a_record(
    [
        pod_on("a", created=1.0, bound=1.25, ready=2.0),
        pod_on("b", created=1.0, bound=1.75),
        pod_on(created=2.0),
    ],
    resolution_s=0.002,
)


def test_each_latency_lies_between_its_own_two_moments() -> None:
    """Created to bound, created to ready, bound to ready."""
    assert measure_t_sched(THREE) == Latencies((0.25, 0.75), missing=1)
    assert measure_t_ready(THREE) == Latencies((1.0,), missing=2)
    assert measure_t_post(THREE) == Latencies((0.75,), missing=1)


def test_a_pod_that_was_there_before_is_neither_sample_nor_missing() -> None:
    """Nobody saw it begin to wait; what happened to it in the window is its T_post."""
    record = a_record([pod_on("a", bound=1.0, ready=1.5), pod_on("a")])

    assert measure_t_sched(record) == Latencies((), missing=0)
    assert measure_t_ready(record) == Latencies((), missing=0)
    assert measure_t_post(record) == Latencies((0.5,), missing=0)
    nobody = by_name(a_record())["t_sched_mean_s"]
    assert (nobody.value, nobody.n, nobody.note) == (None, 0, "no samples")


def test_every_latency_says_how_many_pods_it_lacks() -> None:
    """A scheduler that leaves the hard pods waiting must not look like the fastest."""
    metrics = by_name(THREE)

    mean = metrics["t_sched_mean_s"]
    assert (mean.value, mean.n, mean.resolution) == (0.5, 2, 0.002)
    assert mean.note == "1 of 3 pods have none"
    missing = metrics["t_ready_missing_pods"]
    assert (missing.value, missing.n, missing.better) == (2, 3, "lower")


def test_percentiles_are_refused_where_samples_are_few() -> None:
    """With two samples a p90 is the maximum by another name."""
    metrics = by_name(THREE)

    assert metrics["t_sched_p50_s"].value == 0.25
    assert metrics["t_sched_max_s"].value == 0.75
    assert metrics["t_sched_p90_s"].value is None
    assert metrics["t_sched_p90_s"].note == (
        "p90 needs n >= 10, got 2; 1 of 3 pods have none"
    )


def test_percentiles_of_a_burst_of_200() -> None:
    """Nearest rank: of 0.01 s to 2.00 s the p99 is the 198th."""
    burst = [pod_on("a", created=0.0, bound=n / 100) for n in range(1, 201)]
    metrics = by_name(a_record(burst))

    values = [metrics[f"t_sched_p{rank}_s"].value for rank in (50, 90, 95, 99)]
    assert values == pytest.approx([1.0, 1.8, 1.9, 1.98])
    assert metrics["t_sched_mean_s"].value == pytest.approx(1.005)
