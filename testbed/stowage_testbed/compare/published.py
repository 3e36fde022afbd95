"""The second paper's Table 3: our lines above its own, and whether both point the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.verdicts import UNCHANGED, Verdict
from stowage_testbed.compare.wording import MILLI, MISSING, describe_clocks, show_change, show_value
from stowage_testbed.metrics.latency import RANKS
from stowage_testbed.text.tables import Table

CITATION = (
    "B. Zhou, S. K. Mondal, Y. Cheng, H. M. D. Kabir, On Optimized Scheduling Scheme "
    "for Rapid Pod Autoscaling in Kubernetes, Applied Sciences 16 (2026) 2481, Table 3"
)

PAPER_NODES = 5
PAPER_PODS = 200

NO_DIRECTION = 0.01
"""The paper prints no spread; ratios within a hundredth of 1 have no direction."""


class PaperRow(NamedTuple):
    """One line of a table of the paper, by its word for the scheduler."""

    scheduler: str
    values: Mapping[str, float]


def paper_rows(names: Sequence[str], rows: Mapping[str, tuple[str, Sequence[float]]]) -> Mapping[str, PaperRow]:
    """Return the lines by our word for the scheduler; ``names`` are our metrics'."""
    return {
        arm: PaperRow(scheduler, dict(zip(names, values, strict=True))) for arm, (scheduler, values) in rows.items()
    }


TABLE_3 = paper_rows(
    ("t_sched_mean_s", "t_sched_p99_s", "t_ready_mean_s", "t_ready_p99_s", "jain_pods", "pods_per_node_cv"),
    {
        "default": ("Default", (1175.0, 2673.3, 4958.3, 8673.3, 0.9919, 0.090)),
        "koordinator": ("Koordinator", (816.7, 2000.0, 4856.7, 11670.0, 0.9806, 0.141)),
        "yunikorn": ("YuniKorn", (1955.0, 4336.7, 11540.0, 26003.3, 0.8793, 0.370)),
        "stowage-score-cache": ("Cache-scheduler", (801.7, 2000.0, 4818.3, 8670.0, 0.9917, 0.091)),
    },
)
"""Means of three runs, latencies in ms: five GKE nodes, real containers, timestamps of whole seconds."""

_STATISTICS = ("mean", *(f"p{rank:g}" for rank in RANKS), "max")

COLUMNS = (
    *((f"t_sched_{one}_s", f"T_sched {one}") for one in _STATISTICS),
    *((f"t_ready_{one}_s", f"T_ready {one}") for one in _STATISTICS),
    *((f"t_post_{one}_s", f"T_post {one}") for one in ("mean", "p99")),
    ("jain_pods", "Jain ↑"),
    ("pods_per_node_cv", "CV ↓"),
)
"""Metric and heading."""


def burst_table(comparison: Comparison, limits: str) -> Table:
    """Return latencies in ms and spread of every arm, beside the paper's lines when the workload is the paper's."""
    records, beside = comparison.records_of(limits), is_papers(comparison, limits)
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for arm in comparison.arm_names:
        if not comparison.records_of(limits, arm):
            continue
        means = {name: fmean(values) for name, _ in COLUMNS if (values := comparison.values(limits, arm, name))}
        ours = {name: mean * MILLI if name.endswith("_s") else mean for name, mean in means.items()}
        rows.append((arm, _count_samples(comparison, limits, arm), *_write_cells(ours)))
        if beside and arm in TABLE_3:
            theirs = TABLE_3[arm]
            rows.append((f"  paper: {theirs.scheduler}", f"{PAPER_PODS} x 3", *_write_cells(theirs.values)))
    if records:
        notes.append(
            "n is pods x runs; each figure is the mean over the runs of the run's own "
            f"statistic. {describe_clocks(records)}"
        )
    if cold := sorted({record.arm for record in records if not record.warm}):
        notes.append(f"Not warmed up, the first burst after the start: {', '.join(cold)}.")
    if beside:
        notes.append(
            f"Lines of the paper: {CITATION}; real containers on 5 nodes, and time "
            "stamps of whole seconds. T_ready of fake nodes has no container start."
        )
    return Table(
        title=f"Latency in ms and spread, {limits} client limits",
        headers=("scheduler", "n", *(heading for _, heading in COLUMNS)),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def is_papers(comparison: Comparison, limits: str) -> bool:
    """Return whether the workload is the paper's: 200 pods on 5 nodes."""
    records = comparison.records_of(limits)
    return bool(records) and all(len(one.nodes) == PAPER_NODES and len(one.pods) == PAPER_PODS for one in records)


def _write_cells(values: Mapping[str, float]) -> Iterator[str]:
    for name, _ in COLUMNS:
        value = values.get(name)
        yield f"{value:.1f}" if value is not None and name.endswith("_s") else show_value(value)


def _count_samples(comparison: Comparison, limits: str, arm: str) -> str:
    found = comparison.metrics(limits, arm, "t_sched_mean_s")
    counts = sorted({metric.n for metric in found})
    pods = " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:])))
    return f"{pods} x {len(found)}" if counts else MISSING


def direction_table(comparison: Comparison, limits: str) -> Table:
    """Return each difference that the paper printed, beside ours; empty where workload or baseline are others."""
    papers = comparison.baseline == "default" and is_papers(comparison, limits)
    rows = []
    for arm in comparison.others if papers else ():
        for name, heading in COLUMNS:
            verdict = comparison.verdict(limits, arm, name)
            if arm in TABLE_3 and name in TABLE_3[arm].values and verdict is not None:
                ratio = TABLE_3[arm].values[name] / TABLE_3["default"].values[name]
                rows.append((arm, heading, f"x{ratio:.3f}", show_change(verdict), _compare_directions(ratio, verdict)))
    return Table(
        title=f"Direction against the paper, {limits} client limits",
        headers=("arm", "figure", "paper, of default", "ours, of default", "direction"),
        rows=tuple(rows),
        notes=(f"Paper: {CITATION}. An interval of ours that is no headline's holds by itself.",) if rows else (),
    )


def _compare_directions(ratio: float, verdict: Verdict) -> str:
    neutral, low, high = UNCHANGED[verdict.scale], verdict.low, verdict.high
    if verdict.estimate is None or low is None or high is None or low <= neutral <= high:
        return "ours shows none"
    if abs(ratio - 1) < NO_DIRECTION:
        return "the paper's shows none"
    return "the same" if (verdict.estimate > neutral) == (ratio > 1) else "the opposite"
