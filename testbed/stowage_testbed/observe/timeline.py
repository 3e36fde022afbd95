"""When each pod was created, bound, ready, and gone: on the receipt clock, and on the API server's.

A receipt comes when the watching process gets its turn, which on a busy machine is hundreds of milliseconds after the
event, and a different number each time. The API server stamps each answer itself, in the audit log, to the microsecond.
A change is written before it is answered, and the watch shows changes in the order in which they were written: so a
change had happened when a later one was answered, and of all these stamps the earliest is taken. What is left is the
time from a write to the first answer after it.

A lag between the clocks that is the same for every event moves all moments and no latency; one that changes bends the
latencies. So the clocks agree on an event if its lag is near the median lag of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Any, Literal

from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.pod import Pod, read_pod
from stowage_testbed.observe.receipt import NS_PER_S, RESOLUTION_S, Receipt

ANSWER_CLOCK = "API server's answers"  # Name printed beside every figure that this clock gave
ANSWER_STEP_S = 1e-6  # The stamps have microseconds
TENTHS = 10

Moment = Literal["created", "bound", "ready"]

Answers = Mapping[tuple[str, Moment], Sequence[AuditEntry]]
"""Requests that made it so, by the pod's ``namespace/name`` and the moment."""

TOLERANCE_S = 0.005  # How far from the median a lag may be for the clocks to agree


@dataclass(frozen=True, slots=True)
class PodTimeline:
    """The moments of one pod; ``None`` is a moment that was not seen.

    Of a pod that was there before the watch began no earlier moment is known: ``created`` is ``None``, and
    ``bound`` too if it already had its node. From ``finished`` on it claims no room.
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
        if pod.finished and not (before and before.finished):
            line["finished"] = at
    return [PodTimeline(**line) for line in lines.values()]


def measure_bind_latencies_s(timelines: Iterable[PodTimeline]) -> list[float]:
    """Return the created-to-bound latencies that were seen whole, in seconds."""
    seen = (line.created_to_bound_s for line in timelines)
    return [latency for latency in seen if latency is not None]


@dataclass(frozen=True, slots=True)
class Answered:
    """Pods on the clock of the API server.

    Every moment of ``timelines`` is moved: to its stamp, or by the median lag where the log does not show which request
    it was. ``lags_s`` are receipt minus stamp of every creation and binding that has one, ``missing`` is how many have
    none, and ``late_s`` how much later than a later change an answer was stamped, ninth decile.
    """

    timelines: tuple[PodTimeline, ...]
    lags_s: tuple[float, ...]
    missing: int
    late_s: float


@dataclass(frozen=True, slots=True)
class _Event:
    line: int
    moment: Moment
    receipt: Receipt
    entry: AuditEntry


def read_answers(timelines: Sequence[PodTimeline], entries: Iterable[AuditEntry]) -> Answered:
    """Return the pods of the watch, on the clock of the API server."""
    answers = _group(entries)
    events = [event for number, line in enumerate(timelines) for event in _find_events(number, line, answers)]
    there = [event for event in events if event.moment != "ready"]
    expected = sum((line.created is not None) + (line.bound is not None) for line in timelines)
    lags_ns = [event.receipt.wall_ns - event.entry.stage_ns for event in there]
    lag_ns = int(median(lags_ns)) if lags_ns else 0
    done_ns = _order(events)
    late = [(event.entry.stage_ns - done) / NS_PER_S for event, done in zip(events, done_ns, strict=True)]
    moved: dict[int, dict[Moment, Receipt]] = defaultdict(dict)
    for event, done in zip(events, done_ns, strict=True):
        moved[event.line][event.moment] = _earlier(event.receipt, event.receipt.wall_ns - done)
    return Answered(
        timelines=tuple(_move(line, moved[number], lag_ns) for number, line in enumerate(timelines)),
        lags_s=tuple(lag / NS_PER_S for lag in lags_ns),
        missing=expected - len(there),
        late_s=_find_ninth_decile(late),
    )


def _find_ninth_decile(values: Sequence[float]) -> float:
    if len(values) < 2:  # noqa: PLR2004 - two are the fewest that have quantiles
        return max(values, default=0.0)
    return quantiles(values, n=TENTHS, method="inclusive")[-1]


def _group(entries: Iterable[AuditEntry]) -> Answers:
    found: dict[tuple[str, Moment], list[AuditEntry]] = defaultdict(list)
    for entry in entries:
        key = f"{entry.namespace}/{entry.name}"
        if entry.creates("pods", ""):
            found[key, "created"].append(entry)
        elif entry.creates("pods", "binding"):
            found[key, "bound"].append(entry)
        elif entry.writes("pods", "status"):
            found[key, "ready"].append(entry)
    return found


def _find_events(number: int, line: PodTimeline, answers: Answers) -> Iterable[_Event]:
    """Yield the moments with the last request that came in before the receipt, and so can have been the reason."""
    # A pod may be created with its node.
    binding: Moment = "created" if line.bound == line.created else "bound"
    sources: Sequence[tuple[Moment, Receipt | None, Moment]] = (
        ("created", line.created, "created"),
        ("bound", line.bound, binding),
        ("ready", line.ready, "ready"),
    )
    for moment, receipt, source in sources:
        if receipt is None:
            continue
        before = [
            entry
            for entry in answers.get((f"{line.namespace}/{line.name}", source), ())
            if entry.received_ns <= receipt.wall_ns
        ]
        if before:
            last = max(before, key=lambda entry: entry.received_ns)
            yield _Event(number, moment, receipt, last)


def _order(events: Sequence[_Event]) -> list[int]:
    """Return by when each change had happened, as the answers to later ones show it."""
    done_ns = [0] * len(events)
    earliest_ns: int | None = None
    by_write = sorted(range(len(events)), key=lambda one: events[one].receipt)
    for index in reversed(by_write):
        entry = events[index].entry
        stamp_ns = entry.stage_ns
        earliest_ns = stamp_ns if earliest_ns is None else min(earliest_ns, stamp_ns)
        # No change happens before it is asked for.
        done_ns[index] = max(earliest_ns, entry.received_ns)
    return done_ns


def _move(line: PodTimeline, moved: Mapping[Moment, Receipt], lag_ns: int) -> PodTimeline:
    def at(receipt: Receipt | None) -> Receipt | None:
        return None if receipt is None else _earlier(receipt, lag_ns)

    return replace(
        line,
        created=moved.get("created", at(line.created)),
        refused=at(line.refused),
        bound=moved.get("bound", at(line.bound)),
        ready=moved.get("ready", at(line.ready)),
        finished=at(line.finished),
        deleted=at(line.deleted),
    )


def _earlier(receipt: Receipt, by_ns: int) -> Receipt:
    return Receipt(receipt.monotonic_ns - by_ns, receipt.wall_ns - by_ns)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the events that both clocks saw say of the watch.

    A lag is receipt minus audit stamp; its median is ``None`` where nothing was in both. The clocks disagree on the
    events ``beyond``. Latencies that differ by less than ``resolution_s`` do not differ.
    """

    events: int
    median_lag_s: float | None
    beyond: int
    resolution_s: float


def summarise_lags(lags_s: Sequence[float]) -> Agreement:
    """Sum the lags of a run's events up."""
    middle_s = median(lags_s) if lags_s else None
    return Agreement(
        events=len(lags_s),
        median_lag_s=middle_s,
        beyond=sum(middle_s is not None and abs(lag_s - middle_s) > TOLERANCE_S for lag_s in lags_s),
        resolution_s=max(RESOLUTION_S, measure_spread_s(lags_s)),
    )


def measure_binding_lags_s(timelines: Iterable[PodTimeline], stamps_ns: Mapping[str, int]) -> list[float]:
    """Return receipt minus audit stamp of every binding that both saw, in seconds."""
    return [
        (line.bound.wall_ns - stamps_ns[key]) / NS_PER_S
        for line in timelines
        if line.bound and (key := f"{line.namespace}/{line.name}") in stamps_ns
    ]


def measure_spread_s(lags_s: Sequence[float]) -> float:
    """Return the range of the middle eight tenths; of everything if that is little."""
    if not lags_s:
        return 0.0
    if len(lags_s) < TENTHS:
        return max(lags_s) - min(lags_s)
    cuts = quantiles(lags_s, n=TENTHS)
    return cuts[-1] - cuts[0]
