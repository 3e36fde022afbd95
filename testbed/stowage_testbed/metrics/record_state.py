"""The first and the last moment of a recorded run, as a `ClusterState`."""

from __future__ import annotations

from stowage_testbed.metrics.lifetime import bound_from_s
from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState


def state_at_start(record: RunRecord) -> ClusterState:
    """Return the pods that were there before the window, where they were then."""
    there = (pod for pod in record.pods if pod.created_s is None)
    return ClusterState(
        _nodes(record), tuple(_state(pod, placed=pod.bound_s is None) for pod in there)
    )


def state_at_end(record: RunRecord) -> ClusterState:
    """Return the pods that have not gone, where they are."""
    left = (pod for pod in record.pods if pod.gone_s is None)
    return ClusterState(
        _nodes(record),
        tuple(_state(pod, placed=bound_from_s(pod) is not None) for pod in left),
    )


def _nodes(record: RunRecord) -> tuple[NodeState, ...]:
    return tuple(
        NodeState(node.name, node.cpu_milli, node.memory_bytes) for node in record.nodes
    )


def _state(pod: PodRecord, *, placed: bool) -> PodState:
    return PodState(
        workload=pod.workload,
        node=(pod.node or None) if placed else None,
        cpu_milli=pod.cpu_milli,
        memory_bytes=pod.memory_bytes,
        priority=pod.priority,
        name=pod.name,
    )
