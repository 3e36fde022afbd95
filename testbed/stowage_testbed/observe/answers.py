"""When the API server had done what the watch saw: the stamps of its audit log.

A receipt comes when the watching process gets its turn, which on a busy machine is
hundreds of milliseconds after the event, and a different number each time. The API
server stamps each answer itself, to the microsecond. A change is written before it is
answered, and the watch shows changes in the order in which they were written: so a
change had happened when a later one was answered, and of all these stamps the earliest
is taken. What is left is the time from a write to the first answer after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Literal

from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.observe.timeline import PodTimeline

ANSWER_CLOCK = "API server's answers"
"""Name printed beside every figure that this clock gave."""

ANSWER_STEP_S = 1e-6
"""The stamps have microseconds."""

TENTHS = 10

Moment = Literal["created", "bound", "ready"]

Answers = Mapping[tuple[str, Moment], Sequence[AuditEntry]]
"""Requests that made it so, by the pod's ``namespace/name`` and the moment."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Pods on the clock of the API server.

    Attributes
    ----------
    timelines
        Those of the watch with every moment moved: to its stamp, or by the median lag
        where the log does not show which request it was.
    lags_s
        Receipt minus stamp of every creation and binding that has one, in seconds.
    missing
        Creations and bindings that the log lacks.
    late_s
        How much later than a later change an answer was stamped, ninth decile.
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
    """Yield the moments with the last request that can have been the reason.

    A request that came in after the receipt cannot; names are used again.
    """
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
