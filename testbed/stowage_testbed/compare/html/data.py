"""What the page's script draws: lines, and which pods were where and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from stowage_testbed.compare.html.curves import Line, distribution, loads_of
from stowage_testbed.compare.result import Result
from stowage_testbed.metrics.columns import list_node_columns, list_pod_columns
from stowage_testbed.metrics.latency import LATENCIES
from stowage_testbed.metrics.record import PodRecord, RunRecord, find_placed_span, find_waiting_span
from stowage_testbed.metrics.state import NodeState

ALL_ROUNDS = 0
"""Stands for the rounds together where the number of one would stand."""

LINE_DIGITS = 5


def latency_lines(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return, for each latency, a line a run and one for all runs of an arm."""
    return {name: list(_latency(result, name)) for name in LATENCIES}


def load_lines(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return, for each load, a line a run."""
    return {
        name: [
            _line(result, record.limits, record.arm, record.round_number, load.line_of(record))
            for record in result.records
            if not record.error
        ]
        for name, load in loads_of(result).items()
    }


def _latency(result: Result, name: str) -> Iterator[dict[str, Any]]:
    for limits in result.comparison.limits:
        for arm in result.arms:
            records = result.records_of(limits, arm)
            if records:
                line = distribution(records, name)
                yield _line(result, limits, arm, ALL_ROUNDS, line)
            for record in records:
                line = distribution([record], name)
                yield _line(result, limits, arm, record.round_number, line)


def _line(result: Result, limits: str, arm: str, round_number: int, line: Line) -> dict[str, Any]:
    return {
        "arm": result.arms.index(arm),
        "limits": result.comparison.limits.index(limits),
        "round": round_number,
        "x": [round(x, LINE_DIGITS) for x in line.x],
        "y": [round(y, LINE_DIGITS) for y in line.y],
    }


MOST_PODS = 60_000
"""Pods of all runs on a page: some ten megabytes, which browsers open at once."""

TIME_DIGITS = 4
"""Of seconds: a tenth of the clock's resolution."""


@dataclass(frozen=True, slots=True)
class Placements:
    """The runs whose placements the page shows, in columns, and how many were too many.

    Most runs share a cluster. A pod's class is its workload, priority and requests.
    """

    clusters: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    left_out: int


def placements(result: Result, most_pods: int = MOST_PODS) -> Placements:
    """Return the runs of as many rounds as there is room for, at least of one."""
    clusters: dict[tuple[NodeState, ...], int] = {}
    chosen = list(_chosen(result, most_pods))
    runs = [_run(result, record, clusters.setdefault(record.nodes, len(clusters))) for record in chosen]
    counted = sum(not record.error for record in result.records)
    return Placements([list_node_columns(nodes, result.resources) for nodes in clusters], runs, counted - len(runs))


def _chosen(result: Result, most_pods: int) -> Iterator[RunRecord]:
    """Yield whole rounds: arms of one round are looked at side by side."""
    limits = result.comparison.limits
    records = sorted(
        (record for record in result.records if not record.error),
        key=lambda record: (record.round_number, limits.index(record.limits)),
    )
    room = most_pods
    for place, (_, group) in enumerate(groupby(records, key=lambda record: (record.round_number, record.limits))):
        together = list(group)
        room -= sum(len(record.pods) for record in together)
        if room < 0 and place:
            return
        yield from together


def _run(result: Result, record: RunRecord, cluster: int) -> dict[str, Any]:
    pods = sorted(record.pods, key=lambda pod: (pod.bound_s or 0.0, pod.name))
    waits = [find_waiting_span(pod, record.window_s) for pod in pods]
    return {
        "arm": result.arms.index(record.arm),
        "limits": result.comparison.limits.index(record.limits),
        "round": record.round_number,
        "window": round(record.window_s, TIME_DIGITS),
        "cluster": cluster,
        **list_pod_columns(pods, record.nodes),
        "waits": [_rounded(span[0]) if span else None for span in waits],
        "starts": [_starts(pod, record.window_s) for pod in pods],
        "gone": [_rounded(pod.gone_s) for pod in pods],
    }


def _starts(pod: PodRecord, window_s: float) -> float | None:
    span = find_placed_span(pod, window_s)
    return _rounded(span[0]) if span and pod.node else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, TIME_DIGITS)
