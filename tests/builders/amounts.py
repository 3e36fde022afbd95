"""Amounts of resources in a few letters: cpu in milli, memory in bytes."""

from collections.abc import Mapping

from stowage_testbed.amounts.resources import MOST_PODS, ONE_POD, Resources

GPU = "nvidia.com/gpu"


def asked(cpu: int, memory: int, more: Mapping[str, int] | None = None) -> Resources:
    """Return what a workload's container asks for."""
    return Resources(more or {}, cpu=cpu, memory=memory)


def taken(cpu: int, memory: int, more: Mapping[str, int] | None = None) -> Resources:
    """Return what a pod takes: what it asks for, and itself."""
    return asked(cpu, memory, more) + ONE_POD


def size(cpu: int, memory: int, pods: int = MOST_PODS, more: Mapping[str, int] | None = None) -> Resources:
    """Return what a node offers."""
    return Resources(more or {}, cpu=cpu, memory=memory, pods=pods)
