"""What is recorded of a recovery run, and what the watches saw of the autoscaler and of the pods over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from stowage_testbed.hpa.load import Recovery, recovery
from stowage_testbed.hpa.model import LoadWindow, Segment
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.source import AUTOSCALERS


@dataclass(frozen=True, slots=True)
class HpaRecord:
    """One recovery run: levels of FIND, windows of HOLD; times are receipt-clock seconds from the start of FIND."""

    settings: RecoverySettings
    find: tuple[LoadWindow, ...]
    hold: tuple[LoadWindow, ...]
    replicas: tuple[Replicas, ...]
    pods: tuple[PodCount, ...]

    @property
    def clients(self) -> int:
        """The load of HOLD."""
        return self.find[-1].clients

    @property
    def hold_start_s(self) -> float:
        """When HOLD began, the time that recovery counts from."""
        return self.hold[0].start_s

    @property
    def recovery(self) -> Recovery:
        """What became of the service."""
        return recovery(self.hold, self.settings.hold.streak)

    def document(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PodCount:
    """How many pods there are and how many are ready, from ``at_s`` on."""

    at_s: float
    total: int
    ready: int


@dataclass(frozen=True, slots=True)
class Replicas:
    """What the autoscaler says from ``at_s`` on; usage is the mean that it has read, in percent of the request."""

    at_s: float
    current: int
    desired: int
    cpu_percent: int | None


def pod_counts(changes: Iterable[Change], namespace: str, origin: Receipt) -> tuple[PodCount, ...]:
    """Return the pods of a namespace over time, a count for each change of it."""
    pods: dict[str, bool] = {}
    line: list[PodCount] = []
    for change in changes:
        if change.kind != "Pod" or change.namespace != namespace:
            continue
        if change.verb is Verb.DELETED:
            pods.pop(change.uid, None)
        else:
            pod = read_pod(change.body)
            # One that goes is taken out of the service before it ends.
            pods[change.uid] = pod.ready and pod.live
        at_s = change.receipt.seconds_since(origin)
        count = PodCount(at_s, len(pods), sum(pods.values()))
        if line and line[-1].at_s == at_s:
            # A list shows everything at one moment.
            line.pop()
        if not line or (line[-1].total, line[-1].ready) != (count.total, count.ready):
            line.append(count)
    return tuple(line)


def replicas(changes: Iterable[Change], namespace: str, origin: Receipt) -> tuple[Replicas, ...]:
    """Return the autoscaler's numbers over time, one for each change of its status."""
    line: list[Replicas] = []
    for change in changes:
        if change.kind != AUTOSCALERS.kind or change.namespace != namespace:
            continue
        status = change.body.get("status") or {}
        if change.verb is Verb.DELETED or "currentReplicas" not in status:
            continue
        # Before its first reading the autoscaler reports an empty metric.
        current = ((one.get("resource") or {}).get("current") or {} for one in status.get("currentMetrics") or [])
        usages = (int(one["averageUtilization"]) for one in current if one.get("averageUtilization") is not None)
        at_s = change.receipt.seconds_since(origin)
        line.append(Replicas(at_s, status["currentReplicas"], status["desiredReplicas"], next(usages, None)))
    return tuple(line)


def segments(counts: Sequence[PodCount], start_s: float, end_s: float) -> tuple[Segment, ...]:
    """Return the ready pods over a span, in order; none before the first count."""
    edges = [start_s, *(count.at_s for count in counts if start_s < count.at_s < end_s), end_s]
    return tuple(
        Segment(after - before, next((one.ready for one in reversed(counts) if one.at_s <= before), 0))
        for before, after in pairwise(edges)
        if after > before
    )
