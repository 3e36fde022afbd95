"""Puts the page together: template, style, script and data in one file."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from stowage_testbed.compare.curves import latency, load
from stowage_testbed.compare.html.lines import latency_lines, load_lines
from stowage_testbed.compare.html.placements import Placements, placements
from stowage_testbed.compare.html.rows import verdict_rows
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.burst_table import burst_table
from stowage_testbed.compare.tables.direction_table import direction_table
from stowage_testbed.compare.tables.environment_table import environment_table
from stowage_testbed.compare.tables.failed_table import failed_table
from stowage_testbed.compare.tables.overview import overview
from stowage_testbed.compare.tables.settings_table import settings_table
from stowage_testbed.compare.tables.verdict_table import notes
from stowage_testbed.text.offline_page import policy_hash, templates_of

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
            latencies=latency.MEANINGS,
            loads=load.MEANINGS,
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
