"""The second paper's Table 4, with our lines above its own; Table 3 is in `compare`.

Zhou, Mondal, Cheng, Kabir, "On Optimized Scheduling Scheme for Rapid Pod Autoscaling in
Kubernetes", Table 4: one run of each scheduler, a quarter of an hour of load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.burst_table import CITATION, paper_rows
from stowage_testbed.compare.tables.numbers import MISSING
from stowage_testbed.text.table import Table

NAMES = ("ttr_s", "p99_peak_s", "p99_mean_s", "ok_rate", "t_ready_most_s")


TABLE_4 = paper_rows(
    NAMES,
    {
        "default": ("Default", (346, 1.962, 1.273, 0.40, 99)),
        "koordinator": ("Koordinator", (191, 2.613, 1.291, 0.43, 105)),
        "yunikorn": ("YuniKorn", (152, 1.823, 1.166, 0.33, 111)),
        "stowage-score-cache": ("Cache-scheduler", (115, 1.872, 1.178, 0.43, 105)),
    },
)

HEADERS = (
    "scheduler", "runs", "TTR (s)", "TTR of default", "max p99 (s)", "mean p99 (s)",
    "OK rate", "most ready (s)",
)  # fmt: skip


def recovery_table(result: Result) -> Table:
    """Return time to recovery, and how the service fared, by scheduler and limits."""
    rows = [row for limits in result.comparison.limits for arm in result.arms for row in _rows(result, limits, arm)]
    return Table(
        title="Recovery of an autoscaled service, beside the paper's Table 4",
        headers=HEADERS,
        rows=tuple(rows),
        notes=(
            f"Paper: {CITATION.replace('Table 3', 'Table 4')}; one run each, on GKE, "
            "15 minutes of load and periods of 15 to 30 s. Variant `full` has those "
            "periods; the default run has shorter ones, and its times are not to be "
            "held against the paper's, only the schedulers against each other.",
            "Fake nodes have no container start: what is left of a recovery is the "
            "autoscaler's, the scheduler's, and the model's of the service.",
        ),
    )


def _rows(result: Result, limits: str, arm: str) -> Iterator[tuple[str, ...]]:
    means = {name: fmean(values) if (values := result.values(limits, arm, name)) else None for name in NAMES}
    first = result.values(limits, result.comparison.baseline, "ttr_s")
    base = fmean(first) if first else None
    name = f"{arm} ({limits} limits)"
    yield (name, str(len(result.of(limits, arm))), *_cells(means, base))
    published = TABLE_4.get(arm)
    if published is not None:
        cells = _cells(published.values, TABLE_4["default"].values["ttr_s"])
        yield (f"  paper: {published.scheduler}", "1", *cells)


def _cells(values: Mapping[str, float | None], base: float | None) -> list[str]:
    ttr_s = values["ttr_s"]
    ratio = MISSING if ttr_s is None or not base else f"x{ttr_s / base:.2f}"
    ttr, *others = (_shown(name, values[name]) for name in NAMES)
    return [ttr, ratio, *others]


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return MISSING
    return f"{value:.0f}" if name in {"ttr_s", "t_ready_most_s"} else f"{value:.3f}"
