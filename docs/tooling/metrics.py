"""The page of the metrics: the scheduler's from its Go sources, the optimiser's live.

A metric in Go is a literal of options such as ``metrics.CounterOpts{...}``, or a call
of a function of the same file that fills such a literal from its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_OPTIONS = re.compile(r"\b(?:metrics|prometheus)\.(\w+)Opts\{")
_FUNCTION = re.compile(r"^func (\w+)\(([^)]*)\) [^\n]*\{\n(.*?)^\}", re.M | re.S)
_CONSTANT = re.compile(r'^\s*(\w+)\s*=\s*"([^"]*)"$', re.M)
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_LABELS = re.compile(r"\[\]string\{([^}]*)\}")


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
        if not file.name.endswith("_test.go") and _OPTIONS.search(file.read_text("utf-8"))
    ]


def read(file: Path) -> list[Metric]:
    """Return the metrics that a Go file defines, in its order.

    Raises
    ------
    UnreadableMetricError
        A definition has another form than those above.
    """
    text = file.read_text("utf-8")
    constants = dict(_CONSTANT.findall(text))
    makers = {match[1]: match for match in _FUNCTION.finditer(text) if _OPTIONS.search(match[3])}
    bodies = [(match.start(3), match.end(3)) for match in makers.values()]
    found = [
        (match.start(), _literal(file, text, match, constants))
        for match in _OPTIONS.finditer(text)
        if not any(start <= match.start() < end for start, end in bodies)
    ]
    found += [one for maker in makers.values() for one in _calls(file, text, maker, constants)]
    return [metric for _, metric in sorted(found, key=lambda one: one[0])]


def _literal(file: Path, text: str, match: re.Match[str], constants: dict[str, str]) -> Metric:
    options = _braces(text, match.end())
    name, meaning = (_quoted(options, key) for key in ("Name", "Help"))
    if name is None or meaning is None:
        line = text.count("\n", 0, match.start()) + 1
        raise UnreadableMetricError(f"{file}:{line}: name or help is no plain text")
    return Metric(_whole_name(options, constants, name), match[1].lower(), (), meaning)


def _calls(file: Path, text: str, maker: re.Match[str], constants: dict[str, str]) -> Iterator[tuple[int, Metric]]:
    """Yield the metrics made by calls of a function, with their places."""
    parameters = [part.split()[0] for part in maker[2].split(",")]
    options = _OPTIONS.search(maker[3])
    assert options is not None  # noqa: S101 - for the type checker
    inside = _braces(maker[3], options.end())
    for call in re.finditer(rf"\b{maker[1]}\(", text):
        if text[: call.start()].endswith("func "):
            continue
        pattern = r"\s*,\s*".join([_TEXT] * len(parameters))
        given = re.match(rf"\s*{pattern}\s*\)", text[call.end() :])
        if given is None:
            line = text.count("\n", 0, call.start()) + 1
            raise UnreadableMetricError(f"{file}:{line}: not all arguments are texts")
        by_name = dict(zip(parameters, map(_unescaped, given.groups()), strict=True))
        labels = _LABELS.search(maker[3])
        names = [one.strip() for one in labels[1].split(",")] if labels else []
        name, meaning = (by_name[_assigned(inside, key)] for key in ("Name", "Help"))
        yield (
            call.start(),
            Metric(
                _whole_name(inside, constants, name),
                options[1].lower(),
                tuple(by_name.get(one, one.strip('"')) for one in names),
                meaning,
            ),
        )


def _whole_name(options: str, constants: dict[str, str], name: str) -> str:
    """Return a metric's name with those of its namespace and subsystem before it."""
    parts = [constants.get(_assigned(options, key), "") for key in ("Namespace", "Subsystem")]
    return "_".join(part for part in (*parts, name) if part)


def _braces(text: str, start: int) -> str:
    """Return what stands between a brace, which is open, and its end."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return text[start:place]
    raise UnreadableMetricError("a brace is never closed")


def _quoted(options: str, key: str) -> str | None:
    match = re.search(rf"\b{key}:\s*{_TEXT}", options)
    return _unescaped(match[1]) if match else None


def _assigned(options: str, key: str) -> str:
    match = re.search(rf"\b{key}:\s*(\w+)", options)
    return match[1] if match else ""


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")


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
