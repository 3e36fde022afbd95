"""The second paper's Table 3, with our lines above its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import MISSING, shown
from stowage_testbed.compare.tables.paper import (
    CITATION,
    PAPER_NODES,
    PAPER_PODS,
    PaperRow,
    paper_row,
)
from stowage_testbed.text.table import Table

MILLI = 1000

_STATISTICS = ("mean", "p50", "p90", "p95", "p99", "max")

COLUMNS = (
    *((f"t_sched_{one}_s", f"T_sched {one}") for one in _STATISTICS),
    *((f"t_ready_{one}_s", f"T_ready {one}") for one in _STATISTICS),
    *((f"t_post_{one}_s", f"T_post {one}") for one in ("mean", "p99")),
    ("jain_pods", "Jain ↑"),
    ("pods_per_node_cv", "CV ↓"),
)
"""Metric and heading."""


def burst_table(result: Result, limits: str) -> Table:
    """Return latencies in ms and spread of every arm; empty without latencies.

    The paper's lines are there when the workload is the paper's.
    """
    beside = is_papers(result, limits)
    rows = [
        row
        for arm in result.arms
        if result.of(limits, arm)
        for row in _rows(result, limits, arm, beside)
    ]
    return Table(
        title=f"Latency in ms and spread, {limits} client limits",
        headers=("scheduler", "n", *(heading for _, heading in COLUMNS)),
        rows=tuple(rows),
        notes=tuple(_notes(result, limits, beside)),
    )


def is_papers(result: Result, limits: str) -> bool:
    """Return whether the workload is the paper's: 200 pods on 5 nodes."""
    records = [one for one in result.records if one.limits == limits and not one.error]
    return bool(records) and all(
        len(record.nodes) == PAPER_NODES and len(record.pods) == PAPER_PODS
        for record in records
    )


def _rows(
    result: Result, limits: str, arm: str, beside: bool
) -> Iterator[tuple[str, ...]]:
    yield (
        arm,
        _samples(result, limits, arm),
        *(_ours(result, limits, arm, name) for name, _ in COLUMNS),
    )
    row = paper_row(arm) if beside else None
    if row is not None:
        yield (
            f"  paper: {row.scheduler}",
            f"{PAPER_PODS} x 3",
            *(_papers(row, name) for name, _ in COLUMNS),
        )


def _ours(result: Result, limits: str, arm: str, name: str) -> str:
    values = result.values(limits, arm, name)
    if not values:
        return MISSING
    mean = fmean(values)
    return f"{mean * MILLI:.1f}" if name.endswith("_s") else shown(mean)


def _papers(row: PaperRow, name: str) -> str:
    value = row.values.get(name)
    if value is None:
        return MISSING
    return f"{value:.1f}" if name.endswith("_s") else shown(value)


def _samples(result: Result, limits: str, arm: str) -> str:
    found = result.metrics(limits, arm, "t_sched_mean_s")
    counts = sorted({metric.n for metric in found})
    if not counts:
        return MISSING
    pods = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{pods} x {len(found)}"


def _notes(result: Result, limits: str, beside: bool) -> Iterable[str]:
    records = [one for one in result.records if one.limits == limits and not one.error]
    resolutions = sorted({record.resolution_s for record in records})
    lags = [one.audit_lag_s for one in records if one.audit_lag_s is not None]
    apart = sum(record.audit_beyond for record in records)
    if resolutions:
        steps = " to ".join(
            f"{step * MILLI:.3g}"
            for step in dict.fromkeys((resolutions[0], resolutions[-1]))
        )
        yield (
            "n is pods x runs; each figure is the mean over the runs of the run's own "
            f"statistic. Clock: {result.comparison.clock}, resolution {steps} ms"
            + (
                f", {min(lags) * MILLI:.1f} to {max(lags) * MILLI:.1f} ms behind the "
                f"audit log (medians), apart on {apart} events."
                if lags
                else "; not checked against the audit log."
            )
        )
    cold = sorted({record.arm for record in records if not record.warm})
    if cold:
        yield f"Not warmed up, the first burst after the start: {', '.join(cold)}."
    if beside:
        yield (
            f"Lines of the paper: {CITATION}; real containers on 5 nodes, and time "
            "stamps of whole seconds. T_ready of fake nodes has no container start."
        )
