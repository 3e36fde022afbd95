"""A small pod that is created during a fault, and how long it is held."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.faults.context import FaultContext
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.pod import observed_pod
from stowage_testbed.observe.timeline import pod_timelines
from stowage_testbed.scenario.model import Workload

LATE_POD = Workload("late-pod", replicas=1, cpu_milli=1, memory_bytes=1_000_000)
"""Fits on any node that has any room at all."""


def create_late_pod(context: FaultContext) -> None:
    """Create the late pod."""
    context.apply(LATE_POD)


def hold_s(changes: Iterable[Change], namespace: str) -> float | None:
    """Return the seconds from its creation until it was bound or refused.

    None if there was none, or if it was neither bound nor refused.
    """
    own = (
        change
        for change in changes
        if change.kind == "Pod" and observed_pod(change.body).workload == LATE_POD.name
    )
    for line in pod_timelines(own, namespace):
        decided = [at for at in (line.bound, line.refused) if at is not None]
        if line.created is not None and decided:
            return min(decided).seconds_since(line.created)
    return None
