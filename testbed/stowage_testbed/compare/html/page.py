"""The report as one page that works offline: template, style, script and data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from math import log
from statistics import fmean
from typing import Any

from markupsafe import Markup

from stowage_testbed.compare.curves import LATENCY_MEANINGS, LOAD_MEANINGS
from stowage_testbed.compare.html.data import (
    Placements,
    latency_lines,
    load_lines,
    placements,
)
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.all_tables import (
    environment_table,
    failed_table,
    settings_table,
)
from stowage_testbed.compare.tables.burst_table import burst_table, direction_table
from stowage_testbed.compare.tables.numbers import change_shown, shown, spread_shown
from stowage_testbed.compare.tables.verdict_table import (
    ARROWS,
    CALLED,
    all_metrics,
    notes,
    overview,
    verdict_of,
)
from stowage_testbed.compare.verdicts.levels import HEADLINES
from stowage_testbed.compare.verdicts.verdict import Verdict
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.text.offline_page import policy_hash, templates_of

WIDTH = 120
HEIGHT = 14
REACH = log(2)
"""Half of the picture: from half to twice the baseline; what goes beyond is cut."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Where things lie on the picture, in its pixels.

    Attributes
    ----------
    cut_low, cut_high
        Whether the interval goes on beyond the picture.
    """

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
    low, estimate, high = (
        _position(value) for value in (verdict.low, verdict.estimate, verdict.high)
    )
    return Forest(
        low=_inside(low),
        estimate=_inside(estimate),
        high=_inside(high),
        cut_low=low < 0,
        cut_high=high > WIDTH,
    )


def _position(ratio: float) -> float:
    if ratio <= 0:
        return -1.0
    return round(WIDTH / 2 * (1 + log(ratio) / REACH), 1)


def _inside(position: float) -> float:
    return min(max(position, 0.0), float(WIDTH))


MARKS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "no difference shown": "no difference shown",
    "not judged": "",
}
"""A sign beside the word and the colour."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm's value and what is said of it."""

    value: str
    spread: str
    change: str = ""
    outcome: str = ""
    mark: str = ""
    reason: str = ""
    forest: Forest | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric.

    Attributes
    ----------
    telling
        Whether it is a headline or some arm has a verdict: shown at first.
    """

    name: str
    unit: str
    arrow: str
    headline: bool
    telling: bool
    cells: tuple[Cell, ...]


def verdict_rows(result: Result, limits: str) -> tuple[Row, ...]:
    """Return every metric under one kind of client limits, headlines first."""
    return tuple(_row(result, limits, one) for one in all_metrics(result, limits))


def _row(result: Result, limits: str, metric: Metric) -> Row:
    cells = tuple(_cell(result, limits, arm, metric) for arm in result.arms)
    headline = metric.name in HEADLINES
    return Row(
        name=metric.name,
        unit=metric.unit,
        arrow=ARROWS[metric.better],
        headline=headline,
        telling=headline or any(cell.outcome in CALLED for cell in cells),
        cells=cells,
    )


def _cell(result: Result, limits: str, arm: str, metric: Metric) -> Cell:
    values = result.values(limits, arm, metric.name)
    value = shown(fmean(values) if values else None, metric.unit)
    spread = spread_shown(values, metric.unit)
    verdict = verdict_of(result, limits, arm, metric.name)
    if verdict is None:
        return Cell(value, spread)
    return Cell(
        value=value,
        spread=spread,
        change=change_shown(verdict),
        outcome=verdict.outcome,
        mark=MARKS[verdict.outcome],
        reason=verdict.reason,
        forest=forest(verdict),
    )


PACKAGE = "stowage_testbed.compare.html"

SCRIPTS = (
    "dom.js",
    "axis.js",
    "curves.js",
    "moment.js",
    "bars.js",
    "node.js",
    "page.js",
)
"""In the order in which they need each other."""


def page(result: Result) -> str:
    """Return the report as HTML that loads nothing from anywhere."""
    style, script = _asset("page.css"), _script()
    found = placements(result)
    return (
        templates_of(PACKAGE)
        .get_template("page.html.j2")
        .render(
            result=result,
            comparison=result.comparison,
            parts=[_part(result, limits) for limits in result.comparison.limits],
            overview=overview(result),
            failed=failed_table(result),
            settings=settings_table(result),
            environment=environment_table(result),
            latencies=LATENCY_MEANINGS,
            loads=LOAD_MEANINGS,
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - files of this package
            limits_options=list(enumerate(result.comparison.limits)),
            left_out=found.left_out,
            data=Markup(_data(result, found)),  # noqa: S704 - no "<" is left in it
            style_hash=policy_hash(style),
            script_hash=policy_hash(script),
        )
    )


def _part(result: Result, limits: str) -> dict[str, Any]:
    return {
        "limits": limits,
        "rows": verdict_rows(result, limits),
        "notes": tuple(notes(result, limits)),
        "tables": [
            table
            for table in (burst_table(result, limits), direction_table(result, limits))
            if table.rows
        ],
    }


def _data(result: Result, found: Placements) -> str:
    document = {
        "arms": result.arms,
        "limits": result.comparison.limits,
        "clusters": found.clusters,
        "runs": found.runs,
        "latencies": latency_lines(result),
        "loads": load_lines(result),
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    # A name could end the script element otherwise; JSON means the same either way.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _asset(name: str) -> str:
    return (files(PACKAGE) / "assets" / name).read_text(encoding="utf-8")
