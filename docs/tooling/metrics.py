"""The page of the metrics: the scheduler's from its Go sources, the optimiser's live.

A metric in Go is a call of a ``metrics.Subsystem``, such as ``subsystem.Counter("name", "help")``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from docs.tooling.markdown import code, page, table
from stowage_optimizer.service.metrics import Metrics
from stowage_testbed.base import layout

SCHEDULER = layout.shipped("scheduler")
NOTE = """\
This page is generated from the sources. The scheduler serves its metrics together
with those of kube-scheduler if `scheduler.metrics.enabled` is set in the chart, the
optimiser on the loopback interface if `optimizer.metricsPort` is.
"""
_SUBSYSTEM = re.compile(r'metrics\.Subsystem\("(\w+)"\)')
_MADE = re.compile(r"\bsubsystem\.([A-Z]\w+)\(")
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_NAMED = re.compile(rf"\s*{_TEXT},\s*{_TEXT}(?:,\s*{_TEXT})?")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as Prometheus shows it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


class UnreadableMetricError(ValueError):
    """A definition has a form that is not read here; names file and place."""


def metrics_page() -> str:
    """Return the page."""
    parts = []
    for folder in sorted({file.parent for file in go_files()}):
        found = [one for file in go_files() if file.parent == folder for one in read(file)]
        parts += [f"## {folder.name} (scheduler)\n", _table(found)]
    parts += ["## Optimiser\n", _table(optimizer_metrics())]
    return page("Metrics", NOTE, *parts)


def go_files() -> list[Path]:
    """Return the files of the scheduler that define metrics."""
    return [
        file
        for file in sorted(SCHEDULER.rglob("*.go"))
        if not file.name.endswith("_test.go") and _SUBSYSTEM.search(file.read_text("utf-8"))
    ]


def read(file: Path) -> list[Metric]:
    """Return the metrics that a Go file defines, in its order.

    Raises
    ------
    UnreadableMetricError
        The name, help or label of a metric is not a literal.
    """
    text = file.read_text("utf-8")
    subsystem = _SUBSYSTEM.search(text)
    return [_metric(file, text, match, subsystem[1]) for match in _MADE.finditer(text)] if subsystem else []


def _metric(file: Path, text: str, match: re.Match[str], subsystem: str) -> Metric:
    """Return the metric that a call makes, such as ``subsystem.CounterVec("name", "help", "label")``."""
    given = _NAMED.match(text, match.end())
    kind, labelled = match[1].removesuffix("Vec"), match[1].endswith("Vec")
    if given is None or (labelled and given[3] is None):
        line = text.count("\n", 0, match.start()) + 1
        raise UnreadableMetricError(f"{file}:{line}: name, help or label is no literal")
    name, meaning = f"stowage_{subsystem}_{given[1]}", given[2].replace('\\"', '"').replace("\\\\", "\\")
    return Metric(name, kind.lower(), (given[3],) if labelled else (), meaning)


def optimizer_metrics() -> list[Metric]:
    """Return the metrics of the optimiser's service, from its own registry."""
    # A family without samples does not tell its labels, only what collects it does.
    collectors = Metrics().registry._collector_to_names
    return [
        Metric(
            family.name + ("_total" if family.type == "counter" else ""),
            family.type,
            tuple(getattr(collector, "_labelnames", ())),
            family.documentation,
        )
        for collector in collectors
        for family in collector.collect()
    ]


def _table(found: list[Metric]) -> str:
    rows = [(code(one.name), one.kind, ", ".join(map(code, one.labels)), one.meaning) for one in found]
    return table(("metric", "type", "labels", "meaning"), rows)
