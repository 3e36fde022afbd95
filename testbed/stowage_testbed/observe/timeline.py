"""When each pod was created, bound, ready, and gone, on the receipt clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.pod import Pod, read_pod
from stowage_testbed.observe.receipt import Receipt


@dataclass(frozen=True, slots=True)
class PodTimeline:
    """The moments of one pod; ``None`` is a moment that was not seen.

    Of a pod that was there before the watch began no earlier moment is known:
    ``created`` is ``None``, and ``bound`` too if it already had its node.

    Attributes
    ----------
    finished
        Its containers ended for good: from then on it claims no room.
    """

    uid: str
    namespace: str
    name: str
    created: Receipt | None = None
    refused: Receipt | None = None
    bound: Receipt | None = None
    ready: Receipt | None = None
    finished: Receipt | None = None
    deleted: Receipt | None = None
    node: str = ""

    @property
    def gone(self) -> Receipt | None:
        """Since when it claims no room: it was deleted, or it finished."""
        return self.finished or self.deleted

    @property
    def created_to_bound_s(self) -> float | None:
        """Seconds from creation to binding, if both were seen."""
        if self.created is None or self.bound is None:
            return None
        return self.bound.seconds_since(self.created)


def read_pod_timelines(changes: Iterable[Change], namespace: str) -> list[PodTimeline]:
    """Read the moments of every pod of a namespace, in order of first sight."""
    lines: dict[str, PodTimeline] = {}
    last: dict[str, Pod] = {}
    for change in changes:
        if change.kind != "Pod" or change.namespace != namespace:
            continue
        uid, pod = change.uid, read_pod(change.body)
        line = lines.get(uid) or PodTimeline(uid, pod.namespace, pod.name)
        lines[uid] = _advance(line, change, pod, last.get(uid))
        last[uid] = pod
    return list(lines.values())


def measure_bind_latencies_s(timelines: Iterable[PodTimeline]) -> list[float]:
    """Return the created-to-bound latencies that were seen whole, in seconds."""
    seen = (line.created_to_bound_s for line in timelines)
    return [latency for latency in seen if latency is not None]


def _advance(line: PodTimeline, change: Change, pod: Pod, before: Pod | None) -> PodTimeline:
    at = change.receipt
    if pod.node:
        line = replace(line, node=pod.node)
    if change.verb is Verb.DELETED:
        line = replace(line, deleted=at)
    if change.verb is Verb.ADDED and before is None:
        line = replace(line, created=at)
    elif change.verb is Verb.LISTED or before is None:
        # What holds now may have held for long.
        return line
    if pod.unschedulable and line.refused is None:
        line = replace(line, refused=at)
    if pod.bound and not (before and before.bound):
        line = replace(line, bound=at)
    if pod.ready and not (before and before.ready) and line.ready is None:
        line = replace(line, ready=at)
    if pod.finished and not (before and before.finished):
        line = replace(line, finished=at)
    return line
