"""The pages that are generated: their places below docs/, and what makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.tooling.chart_values import chart_values_page
from docs.tooling.command_line import command_line_page
from docs.tooling.crds import crds_page
from docs.tooling.metrics import metrics_page
from docs.tooling.scenario_schema import scenario_schema_page

ROOT = Path(__file__).parents[2]


def included(path: str) -> Callable[[], str]:
    """Return what makes a page of a README that ships with what it describes."""
    return lambda: (ROOT / path).read_text("utf-8")


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/command-line.md": command_line_page,
    "reference/scenario-schema.md": scenario_schema_page,
    "reference/chart-values.md": chart_values_page,
    "reference/custom-resources.md": crds_page,
    "reference/metrics.md": metrics_page,
    "reference/chart.md": included("charts/stowage/README.md"),
    "explanation/hpa-model.md": included("testbed/stowage_testbed/hpa/README.md"),
}
