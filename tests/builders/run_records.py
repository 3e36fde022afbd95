"""Recorded runs in a line or two, for tests of the metrics."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from amounts import GPU, size, taken

from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.record import Metric, PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState

GB = 10**9

H100 = "devices/h100"

_numbers = count()


def a_node(
    name: str, cpu: int = 4000, memory: int = 4 * GB, pods: int = 110, gpus: int = 0, *, devices: int = 0
) -> NodeState:
    """Return a node; devices are in thousandths."""
    return NodeState(name, size(cpu, memory, pods, {GPU: gpus, H100: devices}))


def pod_on(
    node: str = "",
    *,
    created: float | None = None,
    bound: float | None = None,
    ready: float | None = None,
    gone: float | None = None,
    cpu: int = 100,
    memory: int = GB,
    gpus: int = 0,
    devices: int = 0,
    priority: int = 0,
    workload: str = "w",
    group: str = "",
    disrupted: float | None = None,
    succeeded: bool = False,
) -> PodRecord:
    """Return a pod; moments in seconds from the window's start."""
    name = f"pod-{next(_numbers)}"
    return PodRecord(
        uid=f"uid-{name}",
        name=name,
        workload=workload,
        priority=priority,
        requests=taken(cpu, memory, {GPU: gpus, H100: devices}),
        node=node,
        created_s=created,
        bound_s=bound,
        ready_s=ready,
        gone_s=gone,
        group=group,
        disrupted_s=disrupted,
        succeeded=succeeded,
    )


def a_record(
    pods: Iterable[PodRecord] = (),
    *,
    nodes: Iterable[NodeState] = (a_node("a"), a_node("b")),
    window_s: float = 10.0,
    **more: Any,
) -> RunRecord:
    """Return a run of one arm; `more` goes to `RunRecord`."""
    return RunRecord(
        scenario_id="burst/test",
        arm="default",
        limits="own",
        round_number=1,
        nodes=tuple(nodes),
        pods=tuple(pods),
        window_s=window_s,
        **more,
    )


def by_name(record: RunRecord) -> dict[str, Metric]:
    """Return the record's metrics by their names, which are all different."""
    metrics = metrics_of(record)
    named = {metric.name: metric for metric in metrics}
    assert len(named) == len(metrics)
    return named
