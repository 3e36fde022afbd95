"""Bursts on a real cluster, watched and not watched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.harness.burst import (
    Burst,
    BurstEnvironment,
    burst_environment,
)
from benchmarks.harness.cost import harness_cost
from benchmarks.harness.runs import MeasuredBurst, measured_burst
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.observe.answers import ANSWER_CLOCK
from stowage_testbed.recording.run_record import RunLabel

NODES = 3
PODS = 60

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]


@pytest.fixture(scope="module")
def environment() -> Iterator[BurstEnvironment]:
    with burst_environment(NODES) as made:
        yield made


@pytest.fixture(scope="module")
def burst(environment: BurstEnvironment) -> Burst:
    return Burst(PODS, environment.pod_overrides)


@pytest.fixture(scope="module")
def measured(environment: BurstEnvironment, burst: Burst) -> MeasuredBurst:
    with environment.cluster.api_client() as api:
        label = RunLabel("burst/small", "stowage")
        return measured_burst(environment.cluster, api, burst, label, environment.pids)


def test_every_pod_is_seen_from_its_creation_to_its_readiness(
    measured: MeasuredBurst,
) -> None:
    """The API server counts as many; what is missing would be an error."""
    record = measured.record

    assert record.error == ""
    assert (record.api_pods, len(record.pods)) == (PODS, PODS)
    for pod in record.pods:
        assert pod.created_s is not None
        assert pod.bound_s is not None
        assert pod.ready_s is not None
        assert 0 < pod.created_s <= pod.bound_s <= pod.ready_s <= record.window_s


def test_a_record_has_nodes_clocks_and_footprint(measured: MeasuredBurst) -> None:
    """The release's own node is no part of a placement's quality.

    How far the watch and the audit log agree depends on the machine; that it is known
    does not. The scheduler's processes were given; their peak is the kernel's own.
    """
    record = measured.record

    assert [node.name for node in record.nodes] == ["node-0", "node-1", "node-2"]
    assert {node.resources["pods"] for node in record.nodes} == {110}
    assert {pod.node for pod in record.pods} <= {node.name for node in record.nodes}
    assert record.audit_lag_s is not None
    assert record.clock == ANSWER_CLOCK
    assert record.resolution_s <= 0.002
    assert record.watch_resolution_s is not None
    assert record.watch_resolution_s >= 0.001
    assert 0 <= record.audit_beyond <= 2 * PODS
    assert record.peak_memory_bytes is not None
    assert record.peak_memory_bytes > 10**7
    assert record.cpu_s is not None
    assert record.cpu_s > 0


def test_the_record_gives_the_metrics_of_a_burst(measured: MeasuredBurst) -> None:
    """From a live cluster to the numbers of the second paper's table."""
    values = {metric.name: metric.value for metric in metrics_of(measured.record)}

    assert values["placed_pods"] == PODS
    assert values["t_sched_missing_pods"] == 0
    assert values["jain_pods"] == pytest.approx(1.0)
    assert values["t_sched_p95_s"] is not None
    assert values["t_sched_p99_s"] is None


def test_the_same_burst_is_timed_with_and_without_measuring(
    environment: BurstEnvironment, burst: Burst
) -> None:
    """One pair warms up; what it costs is for a quiet machine to say."""
    cost = harness_cost(environment.cluster, burst, rounds=2, pids=environment.pids)

    assert len(cost.measured_s) == len(cost.unmeasured_s) == 2
    assert min(cost.measured_s + cost.unmeasured_s) > 0
    assert [one.record.round_number for one in cost.measured] == [1, 2]
    assert {one.record.error for one in cost.measured} == {""}
    assert cost.figure().runs == 2
