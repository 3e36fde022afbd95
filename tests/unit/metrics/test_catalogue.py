"""The catalogue as a whole, and the few metrics that are only read off."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from run_records import a_record, by_name, pod_on

from stowage_testbed.metrics import catalogue
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import read_record, write_record

RATIOS = {"ratio", "index"}
_FAMILY = re.compile(r"^def (\w+)\(record: RunRecord\) -> Iterator\[Metric\]:", re.M)
SPELLED_OUT = {"pods/s": "pods_per_s"}


def test_every_record_has_the_same_metrics_in_the_same_order() -> None:
    """Rows of two runs are put side by side by their place."""
    empty, full = a_record(nodes=[], window_s=0.0), a_record([pod_on("a", bound=1.0)])

    assert [m.name for m in metrics_of(empty)] == [m.name for m in metrics_of(full)]


def test_no_family_of_metrics_is_left_out() -> None:
    """The catalogue knows the function of a file by the file's name alone."""
    found = {
        (file.stem, name)
        for file in Path(catalogue.__file__).parent.glob("*.py")
        for name in _FAMILY.findall(file.read_text("utf-8"))
    }

    assert len(found) > 5
    assert {(file, name) for file, name in found if name != f"measure_{file}"} == set()


def test_a_name_carries_its_unit() -> None:
    """Seconds and milliseconds look alike in a table without units."""
    for metric in metrics_of(a_record()):
        if metric.unit in RATIOS or metric.name.startswith("pods_per_node"):
            continue
        unit = SPELLED_OUT.get(metric.unit, metric.unit)
        assert metric.name.endswith(f"_{unit}"), metric


def test_what_has_no_value_says_why() -> None:
    """A gap in a table without a reason is taken for a fault of the table."""
    for record in (a_record(), a_record(nodes=[]), a_record([pod_on(created=1.0)])):
        silent = [m for m in metrics_of(record) if m.value is None and not m.note]
        assert silent == []


def test_a_run_that_failed_has_no_values() -> None:
    """Half of a burst must not win a comparison of throughput."""
    record = a_record([pod_on("a", created=0.0, bound=1.0)], error="two pods are lost")

    metrics = metrics_of(record)
    assert {metric.value for metric in metrics} == {None}
    assert {metric.note for metric in metrics} == {"the run failed: two pods are lost"}


def test_gap_moves_and_evictions_are_read_off() -> None:
    """Two placed of three that are proved possible."""
    record = a_record(
        [pod_on("a"), pod_on("b"), pod_on(), pod_on("a", gone=1.0)],
        bound_placed=3,
        moves=4,
        evictions=5,
    )
    metrics = by_name(record)

    names = ("placed_pods", "unplaced_pods", "gap_to_bound_pods", "moves_pods")
    assert [metrics[name].value for name in names] == [2, 1, 1, 4]
    assert metrics["evictions_pods"].value == 5


def test_a_bound_that_was_beaten_is_called_wrong() -> None:
    """A negative gap is no triumph of a scheduler but a fault of a proof."""
    metric = by_name(a_record([pod_on("a")], bound_placed=0))["gap_to_bound_pods"]

    assert metric.value == -1
    assert "the bound is wrong" in metric.note


def test_what_the_scheduler_took_is_reported_as_it_was_read() -> None:
    """Peaks in bytes, time in seconds; both are better if lower."""
    found = by_name(a_record(peak_memory_bytes=64 * 2**20, cpu_s=1.25))

    memory, cpu = found["scheduler_memory_peak_bytes"], found["scheduler_cpu_s"]
    assert (memory.value, memory.unit, memory.better) == (64 * 2**20, "bytes", "lower")
    assert (cpu.value, cpu.unit, cpu.better) == (1.25, "s", "lower")


def test_what_was_not_measured_has_no_value() -> None:
    """A footprint of 0 bytes would be the best of all."""
    metrics = by_name(a_record())

    for name in ("gap_to_bound_pods", "scheduler_cpu_s", "watch_lag_median_s"):
        assert metrics[name].value is None


def test_the_clocks_are_among_the_metrics() -> None:
    """A reader of a latency sees beside it how far its clock can be trusted."""
    pods = [
        replace(pod_on("a", created=0.5, bound=1.0), watch_t_sched_s=0.7),
        replace(pod_on("a", bound=1.0), watch_t_sched_s=0.1),
    ]
    metrics = by_name(
        a_record(
            pods,
            audit_lag_s=0.003,
            audit_beyond=1,
            answers_late_s=0.002,
            watch_resolution_s=0.05,
        )
    )

    assert metrics["watch_lag_median_s"].value == 0.003
    assert metrics["clocks_apart_events"].value == 1
    assert metrics["answers_late_p90_s"].value == 0.002
    watched = metrics["t_sched_watch_mean_s"]
    assert (watched.value, watched.n, watched.resolution) == (0.7, 1, 0.05)


def test_a_record_survives_its_own_document() -> None:
    """Tables are made again from bundles, without a cluster."""
    record = a_record([pod_on("a", created=0.5, bound=1.0)], cpu_s=1.5, warm=True)

    again = read_record(write_record(record))
    assert again == record
    assert metrics_of(again) == metrics_of(record)
