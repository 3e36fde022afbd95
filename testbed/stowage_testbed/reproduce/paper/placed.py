"""How many pods are placed, and how much of the nodes they use."""

from __future__ import annotations

from collections import Counter

from stowage_testbed.reproduce.instance.rows import PENDING, Where
from stowage_testbed.reproduce.paper.rows import InstanceRow


def all_placed(where: Where) -> bool:
    """Return whether no pod is pending."""
    return PENDING not in where


def placed_by_priority(instance: InstanceRow, where: Where) -> tuple[int, ...]:
    """Return how many pods are placed of each priority, the highest first."""
    counts = Counter(
        priority
        for priority, node in zip(instance.pod_priority, where, strict=True)
        if node != PENDING
    )
    return tuple(counts[one] for one in range(instance.priorities, 0, -1))


def cpu_utilisation(instance: InstanceRow, where: Where) -> float:
    """Return the share of all CPU that the placed pods request."""
    capacity = instance.nodes * instance.node_cpu_milli
    return _used(instance.pod_cpu_milli, where) / capacity


def memory_utilisation(instance: InstanceRow, where: Where) -> float:
    """Return the share of all memory that the placed pods request."""
    capacity = instance.nodes * instance.node_memory_bytes
    return _used(instance.pod_memory_bytes, where) / capacity


def _used(requests: tuple[int, ...], where: Where) -> int:
    return sum(
        request
        for request, node in zip(requests, where, strict=True)
        if node != PENDING
    )
