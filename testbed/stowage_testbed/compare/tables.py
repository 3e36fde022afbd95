"""A comparison as tables, which terminal, Markdown and page show alike: `all_tables`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.published import burst_table, direction_table
from stowage_testbed.compare.verdicts import FIRST_LOOK, Verdict
from stowage_testbed.compare.wording import MISSING, show_change, show_spread, show_value, summarise
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.text.tables import Table, escaped, markdown_text, plain, terminal_text

ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
"""Which way is better, as the papers mark it."""

FAIR = {True: "yes", False: "NO"}


class Cell(NamedTuple):
    """One arm's value and its verdict; the baseline has none."""

    value: str
    spread: str
    verdict: Verdict | None

    @property
    def change(self) -> str:
        """The change from the baseline with its interval."""
        return show_change(self.verdict) if self.verdict else ""

    @property
    def outcome(self) -> str:
        """The verdict in a word."""
        return self.verdict.outcome if self.verdict else ""


class Row(NamedTuple):
    """One metric, with a cell an arm."""

    name: str
    unit: str
    arrow: str
    headline: bool
    cells: tuple[Cell, ...]


def screen(comparison: Comparison, *, whole: bool = False) -> str:
    """Return the tables for a terminal."""
    lead = "\n".join(plain(line) for line in _list_summaries(comparison))
    parts = [lead, terminal_text(all_tables(comparison, whole=whole))]
    if not comparison.complete:
        parts.append("The comparison did not come to its end; this is what there is.")
    return "\n\n".join(filter(None, parts))


def comparison_markdown(comparison: Comparison, *, whole: bool) -> str:
    """Return every table as Markdown; ``whole`` lists every metric."""
    heading = f"# {escaped(comparison.scenario.scenario_id)}\n\n"
    broken = "" if comparison.complete else "**Did not come to its end.**\n\n"
    lead = "".join(f"- {escaped(line)}\n" for line in _list_summaries(comparison))
    return heading + lead + "\n" + broken + markdown_text(all_tables(comparison, whole=whole))


def _list_summaries(comparison: Comparison) -> list[str]:
    return [f"{one.text} ({one.arm}, {one.limits} client limits)" for one in summarise(comparison)]


def all_tables(comparison: Comparison, *, whole: bool = False) -> tuple[Table, ...]:
    """Return the tables that have rows, in the order in which they are read; ``whole`` lists every metric."""
    tables = [failed_table(comparison)]
    for limits in comparison.limits:
        tables += [
            verdict_table(comparison, limits, whole=whole),
            burst_table(comparison, limits),
            direction_table(comparison, limits),
        ]
    tables.append(settings_table(comparison, whole=whole))
    tables += [environment_table(comparison)] if whole else []
    return tuple(table for table in tables if table.rows)


def failed_table(comparison: Comparison) -> Table:
    """Return a line for each run that failed."""
    rows = tuple((run.limits, str(run.round_number), run.arm, run.error) for run in comparison.runs if run.error)
    return Table("Runs that failed", ("limits", "round", "arm", "why"), rows)


def verdict_table(comparison: Comparison, limits: str, *, whole: bool = False) -> Table:
    """Return a metric a row and an arm a column; without ``whole`` the headlines alone."""
    rows = verdict_rows(comparison, limits)
    shown = [row for row in rows if whole or row.headline]
    notes = [*list_notes(comparison, limits)]
    if len(shown) < len(rows):
        notes.append(f"{len(rows) - len(shown)} more metrics have no verdict; --all lists them.")
    return Table(
        title=f"Verdicts against {comparison.baseline}, {limits} client limits",
        headers=("metric", "unit", *comparison.arm_names),
        rows=tuple((f"{row.name} {row.arrow}".strip(), row.unit, *map(_write_cell, row.cells)) for row in shown),
        notes=tuple(notes),
    )


def _write_cell(cell: Cell) -> str:
    if cell.value == MISSING:
        return MISSING
    outcome = "" if cell.outcome == "not judged" else cell.outcome
    return "\n".join(filter(None, (f"{cell.value} {cell.spread}".strip(), cell.change, outcome)))


def verdict_rows(comparison: Comparison, limits: str) -> tuple[Row, ...]:
    """Return every metric under one kind of client limits, headlines first."""
    found: dict[str, Metric] = {}
    for run in comparison.runs:
        for metric in run.metrics if run.limits == limits else ():
            if metric.name not in found or found[metric.name].value is None:
                found[metric.name] = metric
    headlines = comparison.question.headlines
    names = dict.fromkeys((*(name for name in headlines if name in found), *found))

    def cell(arm: str, metric: Metric) -> Cell:
        values = comparison.values(limits, arm, metric.name)
        mean = show_value(fmean(values) if values else None, metric.unit)
        return Cell(mean, show_spread(values, metric.unit), comparison.verdict(limits, arm, metric.name))

    return tuple(
        Row(
            name=name,
            unit="MiB" if found[name].unit == "bytes" else found[name].unit,
            arrow=ARROWS[found[name].better],
            headline=name in headlines,
            cells=tuple(cell(arm, found[name]) for arm in comparison.arm_names),
        )
        for name in names
    )


def list_notes(comparison: Comparison, limits: str) -> Iterable[str]:
    """Yield what must be known to read the verdicts."""
    yield (
        "Mean of the rounds (least to most); change from the baseline in the same "
        "round [interval]; a verdict is a headline's interval that leaves out no "
        "change, and all verdicts on an arm hold together in 19 of 20 comparisons. "
        "↓ lower, ↑ higher is better."
    )
    if comparison.question.each_round:
        yield (
            f"Each round from round {FIRST_LOOK} on was looked at, with a share of "
            "the allowed error; a verdict once given stands."
        )
    for arm in comparison.others:
        found = comparison.verdicts_on(limits, arm)
        if found is None:
            yield f"{arm}: no run to compare."
        else:
            yield from (f"{arm}: left out: {why}" for why in found.left_out)


def settings_table(comparison: Comparison, *, whole: bool = False) -> Table:
    """Return the settings that differ between the arms, or all of them."""
    arms = comparison.arm_names
    rows = [row for row in comparison.preflight if whole or row.differs]
    same = len(comparison.preflight) - len(rows)
    return Table(
        title="What differs between the arms",
        headers=("limits", "setting", *arms, "fair", "note"),
        rows=tuple(
            (row.limits, row.setting, *(row.values.get(arm, MISSING) for arm in arms), FAIR[row.fair], row.note)
            for row in rows
        ),
        notes=(f"{same} more settings are the same in all arms.",) if same else (),
    )


def environment_table(comparison: Comparison) -> Table:
    """Return everything that affects the figures, a line each."""
    rows = [
        ("scenario", comparison.scenario.scenario_id),
        ("scenario sha256", comparison.scenario.sha256),
        *_flatten("parameter", comparison.scenario.parameters),
        ("started", comparison.started),
        ("seed", str(comparison.seed)),
        ("rounds asked for", str(comparison.rounds)),
        *_flatten("", comparison.environment),
    ]
    for entry in comparison.arms:
        name, digests = entry.name, entry.configuration_sha256
        rows += [(f"{name} version, {limits} limits", one.version) for limits, one in entry.settings.items()]
        rows += [(f"{name} configuration sha256, {limits} limits", digest) for limits, digest in digests.items()]
    return Table("Environment", ("what", "value"), tuple(rows))


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flatten(f"{name} {key}".strip(), item)
    else:
        yield name, str(value)
