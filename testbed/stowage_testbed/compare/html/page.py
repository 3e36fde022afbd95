"""The report as one page that works offline: template, style, script and data."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from stowage_testbed.compare.html.curves import LATENCY_MEANINGS, loads_of
from stowage_testbed.compare.html.data import Placements, latency_lines, load_lines, placements
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.all_tables import environment_table, failed_table, settings_table
from stowage_testbed.compare.tables.burst_table import burst_table, direction_table
from stowage_testbed.compare.tables.clocks import name_clock
from stowage_testbed.compare.tables.lead import overview
from stowage_testbed.compare.tables.verdict_table import notes, verdict_rows
from stowage_testbed.compare.verdicts.verdict import Verdict
from stowage_testbed.metrics.columns import name_requested
from stowage_testbed.page.offline import BARS, offline_page

WIDTH = 120
REACH = log(2)
"""Half of the picture: from half to twice the baseline; what goes beyond is cut."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Where things lie in pixels; an interval that goes on beyond them is cut."""

    low: float
    estimate: float
    high: float
    cut_low: bool
    cut_high: bool


def forest(verdict: Verdict) -> Forest | None:
    """Return the picture of a ratio, ``None`` where there is no interval of one."""
    if verdict.scale != "ratio" or verdict.low is None or verdict.high is None:
        return None
    if verdict.estimate is None:
        return None
    low, estimate, high = (_position(value) for value in (verdict.low, verdict.estimate, verdict.high))
    return Forest(
        low=_inside(low), estimate=_inside(estimate), high=_inside(high), cut_low=low < 0, cut_high=high > WIDTH
    )


def _position(ratio: float) -> float:
    if ratio <= 0:
        return -1.0
    return round(WIDTH / 2 * (1 + log(ratio) / REACH), 1)


def _inside(position: float) -> float:
    return min(max(position, 0.0), float(WIDTH))


MARKS = {"better": "▲ better", "worse": "▼ worse", "no difference shown": "no difference shown", "not judged": ""}
"""A sign beside the word and the colour."""


PACKAGE = "stowage_testbed.compare.html"

SCRIPTS = (*BARS, "curves.js", "page.js")
"""In the order in which they need each other."""


def page(result: Result) -> str:
    """Return the report as HTML that loads nothing from anywhere."""
    found = placements(result)
    return offline_page(
        PACKAGE,
        scripts=SCRIPTS,
        data=_data(result, found),
        result=result,
        comparison=result.comparison,
        marks=MARKS,
        forest=forest,
        parts=[_part(result, limits) for limits in result.comparison.limits],
        overview=overview(result),
        failed=failed_table(result),
        settings=settings_table(result),
        environment=environment_table(result),
        latencies=LATENCY_MEANINGS,
        loads={name: load.meaning for name, load in loads_of(result).items()},
        resources=[("pods", "pods"), *((name, name_requested(name)) for name in result.resources)],
        limits_options=list(enumerate(result.comparison.limits)),
        left_out=found.left_out,
        clock=name_clock(result.records),
    )


def _part(result: Result, limits: str) -> dict[str, Any]:
    return {
        "limits": limits,
        "rows": verdict_rows(result, limits),
        "notes": tuple(notes(result, limits)),
        "tables": [table for table in (burst_table(result, limits), direction_table(result, limits)) if table.rows],
    }


def _data(result: Result, found: Placements) -> dict[str, Any]:
    return {
        "arms": result.arms,
        "limits": result.comparison.limits,
        "clusters": found.clusters,
        "runs": found.runs,
        "latencies": latency_lines(result),
        "loads": load_lines(result),
        "shares": [name for name, load in loads_of(result).items() if load.share],
    }
