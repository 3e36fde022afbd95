"""One burst on a cluster, watched or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubernetes.client import ApiClient, AppsV1Api

from benchmarks.harness.burst import (
    NAME,
    POLL_S,
    Burst,
    burst_duration_s,
    burst_namespace,
)
from benchmarks.harness.measurement import Measurement
from stowage_testbed.api_client import Objects
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.audit import audit_end
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.settled import Condition
from stowage_testbed.observe.source import NODES, PODS
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.run.context import RunContext
from stowage_testbed.wait import wait_until


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
    start = audit_end(cluster.audit_log)
    with (
        burst_namespace(api) as namespace,
        Observer(api, (PODS, NODES)) as observer,
    ):
        context = RunContext(cluster, api, observer, tag="")
        measurement = Measurement.begin(context, namespace, pids)
        burst.submit(context.objects, namespace)
        observer.wait_for(
            f"{burst.replicas} ready pods",
            all_ready(namespace, burst.replicas),
            timeout_s=burst.timeout_s,
        )
        record = measurement.end(label, observer.read(_fake_nodes))
        duration_s = burst_duration_s(
            cluster.audit_log, start, namespace, burst.replicas
        )
    return MeasuredBurst(record, duration_s)


def unmeasured_burst_s(cluster: Cluster, api: ApiClient, burst: Burst) -> float:
    """Run a burst without watches; return its seconds by the audit log."""
    start = audit_end(cluster.audit_log)
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

    def condition(state: State) -> Verdict:
        pods = state.all_pods(namespace)
        ready = sum(pod.ready for pod in pods)
        words = f"{len(pods)} of {count} pods, {ready} of them ready"
        return Verdict(len(pods) == count == ready, words)

    return condition


def _ready_replicas(api: ApiClient, namespace: str) -> int:
    status = AppsV1Api(api).read_namespaced_deployment_status(NAME, namespace).status
    return (status.ready_replicas if status else None) or 0


def _fake_nodes(state: State) -> list[str]:
    """Return the names of the nodes that KWOK plays: the others run the release."""
    return [
        str(body["metadata"]["name"])
        for body in state.bodies("Node")
        if FAKE_NODE_ANNOTATION in (body["metadata"].get("annotations") or {})
    ]
