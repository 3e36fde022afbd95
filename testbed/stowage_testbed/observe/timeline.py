"""When each pod was created, bound, ready, and gone: on the receipt clock, and on the API server's.

A receipt comes when the watching process gets its turn, which on a busy machine is hundreds of milliseconds after the
event, and a different number each time. The API server stamps each answer itself, in the audit log, to the microsecond.
A change is written before it is answered, and the watch shows changes in the order in which they were written: so a
change had happened when a later one was answered, and of all these stamps the earliest is taken. What is left is the
time from a write to the first answer after it.

A lag between the clocks that is the same for every event moves all moments and no latency; one that changes bends the
latencies. So the clocks agree on an event if its lag is near the median lag of all.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Any, Literal

from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import NS_PER_S, RESOLUTION_S, Change, Receipt, Verb
from stowage_testbed.observe.pod import EVICTED, PREEMPTED, Pod, read_pod

ANSWER_CLOCK = "API server's answers"  # Name printed beside every figure that this clock gave
ANSWER_STEP_S = 1e-6  # The stamps have microseconds
TENTHS = 10

Moment = Literal["created", "bound", "ready"]
_MOMENTS = ("created", "refused", "bound", "ready", "disrupted", "finished", "deleted")

DISRUPTIONS = frozenset({EVICTED, PREEMPTED})
"""Those by which a pod makes way for another one, or goes to another node."""

Answers = Mapping[tuple[str, Moment], Sequence[AuditEntry]]
"""Requests that made it so, by the pod's ``namespace/name`` and the moment."""

TOLERANCE_S = 0.005  # How far from the median a lag may be for the clocks to agree


@dataclass(frozen=True, slots=True)
class PodTimeline:
    """The moments of one pod; ``None`` is a moment that was not seen.

    Of a pod that was there before the watch began no earlier moment is known: ``created`` is ``None``, and
    ``bound`` too if it already had its node. It was ``disrupted`` when it was evicted or preempted. From ``finished``
    on it claims no room.
    """

    uid: str
    namespace: str
    name: str
    created: Receipt | None = None
    refused: Receipt | None = None
    bound: Receipt | None = None
    ready: Receipt | None = None
    disrupted: Receipt | None = None
    finished: Receipt | None = None
    deleted: Receipt | None = None
    node: str = ""

    @property
    def key(self) -> str:
        """The pod's ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

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
    lines: dict[str, dict[str, Any]] = {}
    last: dict[str, Pod] = {}
    for change in changes:
        if change.kind != "Pod" or change.namespace != namespace:
            continue
        pod, at = read_pod(change.body), change.receipt
        before, last[pod.uid] = last.get(pod.uid), pod
        line = lines.setdefault(pod.uid, {"uid": pod.uid, "namespace": pod.namespace, "name": pod.name})
        if pod.node:
            line["node"] = pod.node
        if change.verb is Verb.DELETED:
            line["deleted"] = at
        if change.verb is Verb.ADDED and before is None:
            line["created"] = at
        elif change.verb is Verb.LISTED or before is None:
            # What holds now may have held for long.
            continue
        if pod.unschedulable:
            line.setdefault("refused", at)
        if pod.bound and not (before and before.bound):
            line["bound"] = at
        if pod.ready and not (before and before.ready):
            line.setdefault("ready", at)
        if pod.disruption in DISRUPTIONS:
            line.setdefault("disrupted", at)
        if pod.finished and not (before and before.finished):
            line["finished"] = at
    return [PodTimeline(**line) for line in lines.values()]


@dataclass(frozen=True, slots=True)
class Answered:
    """Pods on the clock of the API server.

    Every moment of ``timelines`` is moved: to its stamp, or by the median lag where the log does not show which request
    it was, and then also before the answers to later changes. ``lags_s`` are receipt minus stamp of every creation and
    binding that has one, ``missing`` is how many have none, and ``late_s`` how much later than a later change an answer
    was stamped, ninth decile.
    """

    timelines: tuple[PodTimeline, ...]
    lags_s: tuple[float, ...]
    missing: int
    late_s: float


def read_answers(timelines: Sequence[PodTimeline], entries: Iterable[AuditEntry]) -> Answered:
    """Return the pods of the watch, on the clock of the API server."""
    answers = _group(entries)
    events: list[tuple[Receipt, AuditEntry | None, int, str]] = []
    for number, line in enumerate(timelines):
        of_line: dict[str, AuditEntry] = {moment: entry for moment, _, entry in _find_answers(line, answers)}
        seen = ((moment, getattr(line, moment)) for moment in _MOMENTS)
        events += [(receipt, of_line.get(moment), number, moment) for moment, receipt in seen if receipt is not None]
    lags_ns = [receipt.wall_ns - entry.stage_ns for receipt, entry, _, moment in events if entry and moment != "ready"]
    lag_ns = int(median(lags_ns)) if lags_ns else 0
    expected = sum((line.created is not None) + (line.bound is not None) for line in timelines)
    moved: dict[int, dict[str, Any]] = defaultdict(dict)
    late_s: list[float] = []
    # By when each change had happened, as the answers to later ones show it.
    earliest_ns = math.inf
    # A pod that makes way may be received together with the one that comes for it.
    events.sort(key=lambda one: (one[0], one[3] != "disrupted"))
    for receipt, entry, number, moment in reversed(events):
        if entry is None:
            done_ns = int(min(earliest_ns, receipt.wall_ns - lag_ns))
        else:
            earliest_ns = min(earliest_ns, entry.stage_ns)
            # No change happens before it is asked for.
            done_ns = int(max(earliest_ns, entry.received_ns))
            late_s.append((entry.stage_ns - done_ns) / NS_PER_S)
        moved[number][moment] = _earlier(receipt, receipt.wall_ns - done_ns)
    return Answered(
        timelines=tuple(replace(line, **moved[number]) for number, line in enumerate(timelines)),
        lags_s=tuple(lag / NS_PER_S for lag in lags_ns),
        missing=expected - len(lags_ns),
        late_s=quantiles(late_s, n=TENTHS, method="inclusive")[-1] if len(late_s) > 1 else max(late_s, default=0.0),
    )


def _group(entries: Iterable[AuditEntry]) -> Answers:
    found: dict[tuple[str, Moment], list[AuditEntry]] = defaultdict(list)
    for entry in entries:
        if entry.creates("pods", ""):
            found[entry.key, "created"].append(entry)
        elif entry.creates("pods", "binding"):
            found[entry.key, "bound"].append(entry)
        elif entry.writes("pods", "status"):
            found[entry.key, "ready"].append(entry)
    return found


def _find_answers(line: PodTimeline, answers: Answers) -> Iterable[tuple[Moment, Receipt, AuditEntry]]:
    """Yield the moments with the last request that came in before the receipt, and so can have been the reason."""
    # A pod may be created with its node.
    binding: Moment = "created" if line.bound == line.created else "bound"
    sources: Sequence[tuple[Moment, Receipt | None, Moment]] = (
        ("created", line.created, "created"),
        ("bound", line.bound, binding),
        ("ready", line.ready, "ready"),
    )
    for moment, receipt, source in sources:
        if receipt is not None:
            before = [one for one in answers.get((line.key, source), ()) if one.received_ns <= receipt.wall_ns]
            if before:
                yield moment, receipt, max(before, key=lambda one: one.received_ns)


def _earlier(receipt: Receipt, by_ns: int) -> Receipt:
    return Receipt(receipt.monotonic_ns - by_ns, receipt.wall_ns - by_ns)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the events that both clocks saw say of the watch.

    A lag is receipt minus audit stamp; its median is ``None`` where nothing was in both. The clocks disagree on the
    events ``beyond``. Latencies that differ by less than ``resolution_s`` do not differ.
    """

    median_lag_s: float | None
    beyond: int
    resolution_s: float


def summarise_lags(lags_s: Sequence[float]) -> Agreement:
    """Sum the lags of a run's events up; they blur by the range of their middle eight tenths, or of a few."""
    if not lags_s:
        return Agreement(None, 0, RESOLUTION_S)
    middle_s = median(lags_s)
    cuts_s = quantiles(lags_s, n=TENTHS) if len(lags_s) >= TENTHS else [min(lags_s), max(lags_s)]
    return Agreement(
        median_lag_s=middle_s,
        beyond=sum(abs(lag_s - middle_s) > TOLERANCE_S for lag_s in lags_s),
        resolution_s=max(RESOLUTION_S, cuts_s[-1] - cuts_s[0]),
    )


def measure_binding_lags_s(timelines: Iterable[PodTimeline], entries: Iterable[AuditEntry]) -> list[float]:
    """Return receipt minus audit stamp of every binding that both saw, in seconds."""
    answers = _group(entries)
    bindings = (found for line in timelines for found in _find_answers(line, answers) if found[0] == "bound")
    return [(receipt.wall_ns - entry.stage_ns) / NS_PER_S for _, receipt, entry in bindings]
