"""When each pod was created, bound, refused and deleted, on the receipt clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from testbed.observe.change import Change, Verb
from testbed.observe.pod import observed_pod
from testbed.observe.receipt import Receipt


@dataclass(frozen=True, slots=True)
class PodTimeline:
    """The moments of one pod; ``None`` is a moment that was not seen.

    ``created`` is ``None`` also for a pod that was there before the watch began: its
    latency cannot be known.
    """

    uid: str
    namespace: str
    name: str
    created: Receipt | None = None
    refused: Receipt | None = None
    bound: Receipt | None = None
    deleted: Receipt | None = None
    node: str = ""

    @property
    def created_to_bound_s(self) -> float | None:
        """Seconds from creation to binding, if both were seen."""
        if self.created is None or self.bound is None:
            return None
        return self.bound.seconds_since(self.created)


def pod_timelines(changes: Iterable[Change], namespace: str) -> list[PodTimeline]:
    """Read the moments of every pod of a namespace, in order of first sight."""
    lines: dict[str, PodTimeline] = {}
    for change in changes:
        if change.kind != "Pod" or change.namespace != namespace:
            continue
        known = lines.get(change.uid) or PodTimeline(
            change.uid, change.namespace, change.name
        )
        lines[change.uid] = _with(known, change)
    return list(lines.values())


def bind_latencies_s(timelines: Iterable[PodTimeline]) -> list[float]:
    """Return the created-to-bound latencies that were seen whole, in seconds."""
    seen = (line.created_to_bound_s for line in timelines)
    return [latency for latency in seen if latency is not None]


def _with(line: PodTimeline, change: Change) -> PodTimeline:
    pod, at = observed_pod(change.body), change.receipt
    if change.verb is Verb.ADDED and line.created is None:
        line = replace(line, created=at)
    if change.verb is Verb.DELETED:
        line = replace(line, deleted=at)
    if pod.unschedulable and line.refused is None:
        line = replace(line, refused=at)
    if pod.bound and line.bound is None:
        line = replace(line, bound=at, node=pod.node)
    return line
