"""Bursts on a cluster, watched or not, and kept as tests of statistics need them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from kubernetes.client import ApiClient, AppsV1Api

from benchmarks.harness.burst import (
    NAME,
    POLL_S,
    Burst,
    BurstEnvironment,
    burst_duration_s,
    burst_namespace,
)
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.compare.session.one_turn import WindowMeter
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.audit import find_audit_end
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import Condition, ConditionResult
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.source import NODES, PODS
from stowage_testbed.observe.state import State
from stowage_testbed.recording.run_record import (
    Observations,
    RunLabel,
    make_node_records,
    make_record,
)
from stowage_testbed.run.catching_up import count_pods, read_audit
from stowage_testbed.run.context import RunContext

SCENARIO_ID = "burst/deployment-200"


@dataclass(frozen=True, slots=True)
class MeasuredBurst:
    """A burst that was watched, and its seconds by the audit log."""

    record: RunRecord
    duration_s: float


def measured_burst(
    cluster: Cluster,
    api: ApiClient,
    burst: Burst,
    label: RunLabel,
    pids: Iterable[int] = (),
) -> MeasuredBurst:
    """Watch a burst until all its pods are ready, and take the watched ones away.

    Parameters
    ----------
    pids
        Processes of the scheduler.
    """
    with (
        burst_namespace(api) as namespace,
        Observer(api, (PODS, NODES)) as observer,
    ):
        context = RunContext(cluster, api, observer, tag="")
        audit_start = find_audit_end(cluster.audit_log)
        meter = WindowMeter(pids)
        meter.open()
        there = observer.restart_journal()
        start = observer.clock.now()
        burst.submit(context.objects, namespace)
        observer.wait_for(
            f"{burst.replicas} ready pods",
            all_ready(namespace, burst.replicas),
            timeout_s=burst.timeout_s,
        )
        stop = observer.clock.now()
        meter.close()
        count = count_pods(context, namespace)
        changes = [*there, *observer.take_journal()]
        seen = Observations(
            namespace=namespace,
            start=start,
            stop=stop,
            nodes=make_node_records(observer.read(_fake_nodes)),
            changes=changes,
            audit=read_audit(context, audit_start, changes, namespace),
            count=count,
            footprint=meter.footprint,
        )
        duration_s = burst_duration_s(
            cluster.audit_log, audit_start, namespace, burst.replicas
        )
    return MeasuredBurst(make_record(label, seen), duration_s)


def unmeasured_burst_s(cluster: Cluster, api: ApiClient, burst: Burst) -> float:
    """Run a burst without watches; return its seconds by the audit log."""
    start = find_audit_end(cluster.audit_log)
    with burst_namespace(api) as namespace:
        burst.submit(Objects(api), namespace)
        wait_until(
            f"{burst.replicas} ready replicas",
            lambda: _ready_replicas(api, namespace),
            lambda ready: ready == burst.replicas,
            timeout_s=burst.timeout_s,
            poll_s=POLL_S,
        )
        return burst_duration_s(cluster.audit_log, start, namespace, burst.replicas)


def all_ready(namespace: str, count: int) -> Condition:
    """Hold when so many pods are there and all are ready."""

    def condition(state: State) -> ConditionResult:
        pods = state.all_pods(namespace)
        ready = sum(pod.ready for pod in pods)
        words = f"{len(pods)} of {count} pods, {ready} of them ready"
        return ConditionResult(len(pods) == count == ready, words)

    return condition


def _ready_replicas(api: ApiClient, namespace: str) -> int:
    status = AppsV1Api(api).read_namespaced_deployment_status(NAME, namespace).status
    return (status.ready_replicas if status else None) or 0


def _fake_nodes(state: State) -> list[JsonObject]:
    """Return the nodes that KWOK plays: the others run the release."""
    return [
        body
        for body in state.bodies("Node")
        if FAKE_NODE_ANNOTATION in (body["metadata"].get("annotations") or {})
    ]


def recorded_bursts(
    environment: BurstEnvironment, replicas: int, arm: str, rounds: int
) -> Iterator[RunRecord]:
    """Yield so many measured bursts of one scheduler, after one that warms it up."""
    burst = Burst(replicas, environment.pod_overrides)
    with environment.cluster.api_client() as api:
        for number in range(rounds + 1):
            label = RunLabel(
                SCENARIO_ID, arm, "equal", round_number=number, warm=number > 0
            )
            made = measured_burst(
                environment.cluster, api, burst, label, environment.pids
            )
            if number:
                yield made.record


def write_recordings(file: Path, records: Iterable[RunRecord]) -> None:
    """Write records as compressed JSON lines; the same records give the same bytes."""
    lines = (msgspec.json.encode(record) + b"\n" for record in records)
    file.write_bytes(gzip.compress(b"".join(lines), mtime=0))
