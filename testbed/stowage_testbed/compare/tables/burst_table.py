"""The second paper's Table 3: our lines above its own, and whether both point alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.clocks import describe_clocks
from stowage_testbed.compare.tables.numbers import MISSING, change_shown, shown
from stowage_testbed.compare.tables.verdict_table import verdict_of
from stowage_testbed.compare.verdicts.verdict import UNCHANGED, Verdict
from stowage_testbed.metrics.latency import RANKS
from stowage_testbed.text.table import Table

CITATION = (
    "B. Zhou, S. K. Mondal, Y. Cheng, H. M. D. Kabir, On Optimized Scheduling Scheme "
    "for Rapid Pod Autoscaling in Kubernetes, Applied Sciences 16 (2026) 2481, Table 3"
)

PAPER_NODES = 5
PAPER_PODS = 200


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One line of a table of the paper, by its word for the scheduler."""

    scheduler: str
    values: Mapping[str, float]


def paper_rows(names: Sequence[str], rows: Mapping[str, tuple[str, Sequence[float]]]) -> Mapping[str, PaperRow]:
    """Return the lines by our word for the scheduler; ``names`` are our metrics'."""
    return {
        arm: PaperRow(scheduler, dict(zip(names, values, strict=True))) for arm, (scheduler, values) in rows.items()
    }


TABLE_3 = paper_rows(
    (
        "t_sched_mean_s", "t_sched_p99_s", "t_ready_mean_s", "t_ready_p99_s",
        "jain_pods", "pods_per_node_cv",
    ),
    {
        "default": ("Default", (1175.0, 2673.3, 4958.3, 8673.3, 0.9919, 0.090)),
        "koordinator": (
            "Koordinator", (816.7, 2000.0, 4856.7, 11670.0, 0.9806, 0.141),
        ),
        "yunikorn": ("YuniKorn", (1955.0, 4336.7, 11540.0, 26003.3, 0.8793, 0.370)),
        "stowage-score-cache": (
            "Cache-scheduler", (801.7, 2000.0, 4818.3, 8670.0, 0.9917, 0.091),
        ),
    },
)  # fmt: skip
"""Means of three runs, latencies in ms: five GKE nodes, real containers, timestamps of
whole seconds."""


MILLI = 1000

_STATISTICS = ("mean", *(f"p{rank:g}" for rank in RANKS), "max")

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
    rows = [row for arm in result.arms if result.of(limits, arm) for row in _rows(result, limits, arm, beside)]
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
        len(record.nodes) == PAPER_NODES and len(record.pods) == PAPER_PODS for record in records
    )


def _rows(result: Result, limits: str, arm: str, beside: bool) -> Iterator[tuple[str, ...]]:
    yield (arm, _samples(result, limits, arm), *(_ours(result, limits, arm, name) for name, _ in COLUMNS))
    row = TABLE_3.get(arm) if beside else None
    if row is not None:
        yield (f"  paper: {row.scheduler}", f"{PAPER_PODS} x 3", *(_papers(row, name) for name, _ in COLUMNS))


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
    if records:
        yield (
            "n is pods x runs; each figure is the mean over the runs of the run's own "
            f"statistic. {describe_clocks(records)}"
        )
    cold = sorted({record.arm for record in records if not record.warm})
    if cold:
        yield f"Not warmed up, the first burst after the start: {', '.join(cold)}."
    if beside:
        yield (
            f"Lines of the paper: {CITATION}; real containers on 5 nodes, and time "
            "stamps of whole seconds. T_ready of fake nodes has no container start."
        )


ALONE = "An interval of ours that is no headline's holds by itself."
NO_DIRECTION = 0.01
"""The paper prints no spread; ratios within a hundredth of 1 have no direction."""


def direction_table(result: Result, limits: str) -> Table:
    """Return each difference that the paper printed, beside ours.

    Empty where workload or baseline are not the paper's.
    """
    rows = [
        row
        for arm in result.others
        if result.comparison.baseline == "default" and is_papers(result, limits)
        for row in _directions(result, limits, arm)
    ]
    return Table(
        title=f"Direction against the paper, {limits} client limits",
        headers=("arm", "figure", "paper, of default", "ours, of default", "direction"),
        rows=tuple(rows),
        notes=(f"Paper: {CITATION}. {ALONE}",) if rows else (),
    )


def _directions(result: Result, limits: str, arm: str) -> Iterator[tuple[str, ...]]:
    row, default = TABLE_3.get(arm), TABLE_3["default"]
    if row is None:
        return
    for name, heading in COLUMNS:
        verdict = verdict_of(result, limits, arm, name)
        if name in row.values and verdict is not None:
            ratio = row.values[name] / default.values[name]
            printed = f"x{ratio:.3f}"
            yield (arm, heading, printed, change_shown(verdict), _direction(ratio, verdict))


def _direction(ratio: float, verdict: Verdict) -> str:
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return "ours shows none"
    if verdict.low <= UNCHANGED[verdict.scale] <= verdict.high:
        return "ours shows none"
    if abs(ratio - 1) < NO_DIRECTION:
        return "the paper's shows none"
    ours_higher = verdict.estimate > UNCHANGED[verdict.scale]
    return "the same" if ours_higher == (ratio > 1) else "the opposite"
