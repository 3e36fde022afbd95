"""What is shown of a trace in virtual time: a screen, or all of it as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from stowage_testbed.metrics.packing import count_placed_by_priority
from stowage_testbed.metrics.record import find_state_at_end
from stowage_testbed.simulate.trace_answer import TraceAnswer
from stowage_testbed.text.table import Table

SHOWN = (
    "t_sched_mean_s", "t_sched_p50_s", "t_sched_p90_s", "t_sched_p99_s",
    "t_sched_max_s", "waiting_mean_pods", "waiting_peak_pods", "placed_pods",
    "unplaced_pods", "evictions_pods", "priority_inversions_pods",
)  # fmt: skip
"""Metrics on the screen, besides those of utilisation; JSON has all."""

MOST_REASONS = 10
"""Lines of reasons on the screen."""


def make_tables(answer: TraceAnswer) -> Iterator[Table]:
    """Yield what fits on a screen."""
    yield _tabulate_ends(answer)
    yield _tabulate_metrics(answer)
    yield _tabulate_priorities(answer)
    yield _tabulate_course(answer)
    yield from (table for table in _make_remarks(answer) if table.rows)


def make_document(answer: TraceAnswer, *, pods: bool) -> dict[str, Any]:
    """Return the answer as JSON values, with or without what became of each pod."""
    passed = answer.passed
    document = {
        "trace": answer.record.scenario_id,
        "profile": answer.record.arm,
        "window_s": answer.record.window_s,
        "events": passed.events,
        "attempts": passed.attempts,
        "pods_by_end": _count_ends(answer),
        "placed_by_priority": _count_by_priority(answer),
        "metrics": [asdict(metric) for metric in answer.metrics],
        "course": [asdict(part) for part in answer.course],
        "reasons": _count_reasons(answer),
        "left_out": [asdict(one) for one in passed.left_out],
        "unknown_fields": [asdict(one) for one in passed.unknown_fields],
    }
    if pods:
        document["pods"] = [msgspec.structs.asdict(life) for life in passed.lives]
    return document


def _count_ends(answer: TraceAnswer) -> dict[str, int]:
    """Return how many pods ended how; the last are those that are still there."""
    lives = answer.passed.lives
    ended = Counter(life.how for life in lives if life.ended_s is not None)
    left = [life for life in lives if life.ended_s is None]
    running = sum(life.bound_s is not None for life in left)
    return {**dict(sorted(ended.items())), "running": running,
            "pending": len(left) - running}  # fmt: skip


def _count_by_priority(answer: TraceAnswer) -> list[dict[str, int]]:
    """Return of each priority how many pods ever had a node, and have one now."""
    came = Counter(pod.priority for pod in answer.record.pods)
    placed = Counter(pod.priority for pod in answer.record.pods if pod.node)
    running = count_placed_by_priority(find_state_at_end(answer.record))
    return [
        {
            "priority": priority,
            "pods": came[priority],
            "ever_placed": placed[priority],
            "placed_at_end": running.get(priority, 0),
        }
        for priority in sorted(came, reverse=True)
    ]


def _count_reasons(answer: TraceAnswer) -> dict[str, int]:
    """Return what keeps the pods that are pending at the end, the commonest first."""
    kept = (
        life.reason or "it was never tried"
        for life in answer.passed.lives
        if life.ended_s is None and life.bound_s is None
    )
    return dict(Counter(kept).most_common())


def _tabulate_ends(answer: TraceAnswer) -> Table:
    rows = tuple((how, str(pods)) for how, pods in _count_ends(answer).items())
    record = answer.record
    title = f"{record.scenario_id} in virtual time, profile {record.arm}"
    note = f"{record.window_s / 3600:.2f} h on {len(record.nodes)} nodes; {answer.passed.attempts} attempts"
    return Table(title, ("pods", ""), rows, (note,))


def _tabulate_metrics(answer: TraceAnswer) -> Table:
    rows = tuple(
        (metric.name, "-" if metric.value is None else f"{metric.value:.4g}",
         metric.unit, str(metric.n), metric.note)
        for metric in answer.metrics
        if metric.name in SHOWN or metric.name.startswith("utilisation_")
    )  # fmt: skip
    headers = ("metric", "value", "unit", "n", "note")
    note = "No time passes while the scheduler works: t_sched is what pods waited."
    return Table("Metrics", headers, rows, (note,))


def _tabulate_priorities(answer: TraceAnswer) -> Table:
    rows = tuple(tuple(str(value) for value in row.values()) for row in _count_by_priority(answer))
    headers = ("priority", "pods", "ever placed", "placed at the end")
    return Table("By priority", headers, rows)


def _tabulate_course(answer: TraceAnswer) -> Table:
    names = list(answer.course[0].utilisation) if answer.course else []
    rows = tuple(
        (f"{part.until_s / 3600:.2f}", f"{part.waiting_pods:.4g}",
         *(f"{part.utilisation[name]:.3f}" for name in names))
        for part in answer.course
    )  # fmt: skip
    headers = ("until hour", "waiting pods", *(f"{name} requested" for name in names))
    note = "Averages; shares are of the nodes that are there at the end."
    return Table("Over time", headers, rows, (note,))


def _make_remarks(answer: TraceAnswer) -> Iterator[Table]:
    reasons = list(_count_reasons(answer).items())[:MOST_REASONS]
    rows = tuple((str(pods), reason) for reason, pods in reasons)
    yield Table("What keeps pending pods", ("pods", "why"), rows)
    left_out = answer.passed.left_out
    shown = tuple((one.object, one.reason) for one in left_out[:MOST_REASONS])
    more = len(left_out) - len(shown)
    notes = (f"and {more} more",) if more > 0 else ()
    yield Table("Left out", ("object", "why"), shown, notes)
    unknown = answer.passed.unknown_fields[:MOST_REASONS]
    fields = tuple((one.field, str(one.objects)) for one in unknown)
    yield Table("Fields that this scheduler does not know", ("field", "objects"), fields)
