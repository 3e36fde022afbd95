"""Fixed answers for the pods that wait, and for what the scheduler takes."""

from __future__ import annotations

from math import sqrt

import pytest
from run_records import a_node, a_record, by_name, pod_on


def test_pods_that_wait_obey_littles_law() -> None:
    """Mean number waiting = arrivals a second x mean wait (Little 1961).

    Four pods in a window of 10 s that wait 1, 2, 3 and 4 s: 0.4/s x 2.5 s = 1.0.
    """
    pods = [
        pod_on("a", created=start, bound=start + wait, ready=start + wait)
        for start, wait in ((0.0, 1.0), (1.0, 2.0), (4.0, 3.0), (5.0, 4.0))
    ]

    found = by_name(a_record(pods, window_s=10.0))

    mean_wait, arrivals = found["t_sched_mean_s"].value, len(pods) / 10.0
    assert mean_wait == pytest.approx(2.5)
    assert found["waiting_mean_pods"].value == pytest.approx(arrivals * 2.5)


def test_what_the_scheduler_took_is_reported_as_it_was_read() -> None:
    """Peaks in bytes, time in seconds; both are better if lower."""
    found = by_name(a_record(peak_memory_bytes=64 * 2**20, cpu_s=1.25))

    memory, cpu = found["scheduler_memory_peak_bytes"], found["scheduler_cpu_s"]
    assert (memory.value, memory.unit, memory.better) == (64 * 2**20, "bytes", "lower")
    assert (cpu.value, cpu.unit, cpu.better) == (1.25, "s", "lower")


def test_pods_per_node_have_the_spread_of_the_whole_cluster() -> None:
    """The nodes are all there are, no sample: the divisor is their number.

    Counts 4, 2 and 0: mean 2, standard deviation sqrt(8 / 3).
    """
    nodes = [a_node(name) for name in "abc"]
    pods = [pod_on(node, created=0, bound=1, ready=1) for node in "aaaabb"]

    found = by_name(a_record(pods, nodes=nodes))

    assert found["pods_per_node_mean"].value == pytest.approx(2)
    assert found["pods_per_node_std"].value == pytest.approx(sqrt(8 / 3))
    assert found["pods_per_node_cv"].value == pytest.approx(sqrt(8 / 3) / 2)
    assert found["jain_pods"].value == pytest.approx(36 / (3 * 20))
