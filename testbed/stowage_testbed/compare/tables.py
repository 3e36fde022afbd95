"""A comparison in words and as tables, which terminal, Markdown and page show alike: `all_tables`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from math import log10
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.verdicts import FIRST_LOOK, UNCHANGED, ArmVerdicts, Verdict
from stowage_testbed.metrics.latency import RANKS
from stowage_testbed.metrics.record import Metric, RunRecord
from stowage_testbed.text.tables import Table, escaped, markdown_text, plain, terminal_text

MISSING = "-"
MILLI = 1000
HUGE = 1000.0
"""A ratio beyond it, or below its inverse, says no more than that it is open."""

CALLED = ("better", "worse")

MEANINGS = {"t_sched_mean_s": "mean time to a node", "ttr_s": "time to recovery"}
"""Headlines that lead, in words."""

SURE = "at most 1 in 20 comparisons of a scheduler with itself would say so"


def show_value(value: float | None, unit: str = "") -> str:
    """Return a value with four significant digits; bytes in MiB."""
    if value is None:
        return MISSING
    if unit == "bytes":
        return f"{value / 2**20:.1f} MiB"
    if value == int(value) and abs(value) < 1e9:  # noqa: PLR2004 - fits a column
        return str(int(value))
    digits = max(0, 3 - int(log10(abs(value)) // 1))
    return f"{value:.{digits}f}" if digits <= 7 else f"{value:.3g}"  # noqa: PLR2004


def show_spread(values: Sequence[float], unit: str = "") -> str:
    """Return the extremes of the values; empty where they do not differ."""
    if not values or min(values) == max(values):
        return ""
    return f"({show_value(min(values), unit)} to {show_value(max(values), unit)})"


def show_change(verdict: Verdict) -> str:
    """Return estimate and interval on the verdict's scale; empty without one."""
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return ""
    return f"{show_estimate(verdict)} [{_show_end(verdict, verdict.low)}, {_show_end(verdict, verdict.high)}]"


def show_estimate(verdict: Verdict) -> str:
    """Return the change alone, as a factor or with its sign; empty without one."""
    if verdict.estimate is None:
        return ""
    sign = "x" if verdict.scale == "ratio" else "+" * (verdict.estimate > 0)
    return sign + _show_end(verdict, verdict.estimate)


def _show_end(verdict: Verdict, value: float) -> str:
    if verdict.scale == "difference":
        return show_value(value, verdict.unit)
    if not 1 / HUGE <= value <= HUGE:
        return f">{HUGE:g}" if value > 1 else f"<{1 / HUGE:g}"
    return f"{value:.3f}" if value < 9.9995 else f"{value:.1f}"  # noqa: PLR2004


def name_clock(records: Iterable[RunRecord]) -> str:
    """Return the clock of the runs; with more than one, each with its runs."""
    counts = Counter(record.clock for record in records)
    if len(counts) < 2:  # noqa: PLR2004 - one clock for all
        return "".join(counts)
    return " and ".join(f"{clock} ({runs} runs)" for clock, runs in counts.items())


def describe_clocks(records: Sequence[RunRecord]) -> str:
    """Return the clock with its resolution, and what the watch says beside it."""
    steps = _show_range_ms([record.resolution_s for record in records])
    text = f"Clock: {name_clock(records)}, resolution {steps} ms."
    late = [one.answers_late_s for one in records if one.answers_late_s is not None]
    if late:
        text += (
            f" By the order of the writes, answers were up to {_show_range_ms(late)} ms "
            "late (ninth decile), which is taken off."
        )
    lags = [one.audit_lag_s for one in records if one.audit_lag_s is not None]
    if not lags:
        return f"{text} Not checked against the audit log."
    watched = [one.watch_resolution_s for one in records if one.watch_resolution_s is not None]
    missing = sum(record.audit_missing for record in records)
    lacks = f", which lacks {missing} bindings" if missing else ""
    resolution = f", resolution {_show_range_ms(watched)} ms" if watched else ""
    return (
        f"{text} The watch came {_show_range_ms(lags)} ms behind the audit log "
        f"(medians){lacks}{resolution}, apart on {sum(record.audit_beyond for record in records)} events."
    )


def _show_range_ms(values_s: Sequence[float]) -> str:
    return " to ".join(f"{value * MILLI:.3g}" for value in dict.fromkeys((min(values_s), max(values_s))))


def summarise(found: ArmVerdicts) -> str:
    """Return the headlines of an arm in words: the leading one in a sentence of its own."""
    others = found.headlines[1:]
    named = {
        outcome: ", ".join(f"{one.name} {show_estimate(one)}" for one in others if one.outcome == outcome)
        for outcome in CALLED
    }
    parts = [f"{found.arm} is {outcome} in {names}" for outcome, names in named.items() if names]
    quiet = [one.name for one in others if one.outcome not in CALLED]
    if quiet:
        parts.append(f"no difference is shown in {', '.join(quiet)}")
    return lead_sentence(found) + (f" Of the other headlines: {'; '.join(parts)}." if parts else "")


def lead_sentence(found: ArmVerdicts) -> str:
    """Return who is faster, by how much, and how sure it is."""
    arm, baseline = found.arm, found.baseline
    if not found.headlines:
        return f"{arm} and {baseline} have no whole round in common."
    leading = found.headlines[0]
    rounds = f"{leading.rounds} round{'s' * (leading.rounds != 1)}"
    what, change = MEANINGS.get(leading.name, leading.name), show_change(leading)
    if leading.outcome in CALLED and (leading.scale != "ratio" or leading.unit != "s"):
        return f"{arm} is {leading.outcome} than {baseline}: {what} {change} ({rounds}; {SURE})."
    if leading.outcome in CALLED:
        estimate, low, high = leading.estimate or 1, leading.low or 1, leading.high or 1
        quick, slow, values = baseline, arm, (leading.baseline, leading.arm)
        if leading.outcome == "better":
            quick, slow, values = slow, quick, values[::-1]
            estimate, low, high = 1 / estimate, 1 / high, 1 / low
        return (
            f"{quick} is {estimate:.3g} times as fast as {slow} (between {low:.3g} and {high:.3g} times): "
            f"{what} {show_value(values[0])} s against {show_value(values[1])} s, {rounds}; {SURE}."
        )
    if leading.outcome == "not judged" or leading.low is None:
        return f"Nothing is shown of {arm} against {baseline} by {rounds}: {what}: {leading.reason}."
    text = f"No difference of {arm} from {baseline} is shown"
    if leading.unit == "s":
        text = f"Neither {arm} nor {baseline} is shown to be faster"
    said = "the intervals of all headlines hold together in 19 of 20 comparisons"
    return f"{text} by {rounds}: {what} changes by {change}; {said}."


CITATION = (
    "B. Zhou, S. K. Mondal, Y. Cheng, H. M. D. Kabir, On Optimized Scheduling Scheme "
    "for Rapid Pod Autoscaling in Kubernetes, Applied Sciences 16 (2026) 2481, Table 3"
)

PAPER_NODES = 5
PAPER_PODS = 200

NO_DIRECTION = 0.01
"""The paper prints no spread; ratios within a hundredth of 1 have no direction."""


PUBLISHED = yaml.safe_load(files(__package__).joinpath("published.yaml").read_text("utf-8"))
TABLE_3: Mapping[str, Mapping[str, Any]] = PUBLISHED["table_3"]
TABLE_4: Mapping[str, Mapping[str, Any]] = PUBLISHED["table_4"]
"""By our word for a scheduler, the paper's ``scheduler`` and its ``values``."""

_STATISTICS = ("mean", *(f"p{rank:g}" for rank in RANKS), "max")

COLUMNS = (
    *((f"t_sched_{one}_s", f"T_sched {one}") for one in _STATISTICS),
    *((f"t_ready_{one}_s", f"T_ready {one}") for one in _STATISTICS),
    *((f"t_post_{one}_s", f"T_post {one}") for one in ("mean", "p99")),
    ("jain_pods", "Jain ↑"),
    ("pods_per_node_cv", "CV ↓"),
)


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
        found = comparison.metrics(limits, arm, "t_sched_mean_s")
        counts = sorted({metric.n for metric in found})
        pods = " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:])))
        rows.append((arm, f"{pods} x {len(found)}" if counts else MISSING, *_write_cells(ours)))
        if beside and arm in TABLE_3:
            theirs = TABLE_3[arm]
            rows.append((f"  paper: {theirs['scheduler']}", f"{PAPER_PODS} x 3", *_write_cells(theirs["values"])))
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
    headers = ("scheduler", "n", *(heading for _, heading in COLUMNS))
    return Table(f"Latency in ms and spread, {limits} client limits", headers, tuple(rows), tuple(notes))


def is_papers(comparison: Comparison, limits: str) -> bool:
    """Return whether the workload is the paper's: 200 pods on 5 nodes."""
    records = comparison.records_of(limits)
    return bool(records) and all(len(one.nodes) == PAPER_NODES and len(one.pods) == PAPER_PODS for one in records)


def _write_cells(values: Mapping[str, float]) -> Iterator[str]:
    for name, _ in COLUMNS:
        value = values.get(name)
        yield f"{value:.1f}" if value is not None and name.endswith("_s") else show_value(value)


def direction_table(comparison: Comparison, limits: str) -> Table:
    """Return each difference that the paper printed, beside ours; empty where workload or baseline are others."""
    papers = comparison.baseline == "default" and is_papers(comparison, limits)
    rows = []
    for arm in comparison.others if papers else ():
        for name, heading in COLUMNS:
            verdict = comparison.verdict(limits, arm, name)
            if arm in TABLE_3 and name in TABLE_3[arm]["values"] and verdict is not None:
                ratio = TABLE_3[arm]["values"][name] / TABLE_3["default"]["values"][name]
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


ARROWS = {"lower": "↓", "higher": "↑", "neither": ""}
FAIR = {True: "yes", False: "NO"}


class Cell(NamedTuple):
    """One arm's value with its verdict, and the change from the baseline; the baseline has none."""

    value: str
    spread: str
    verdict: Verdict | None
    change: str = ""
    outcome: str = ""


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
    return [f"{summarise(one)} ({one.arm}, {one.limits} client limits)" for one in comparison.verdicts]


def all_tables(comparison: Comparison, *, whole: bool = False) -> tuple[Table, ...]:
    """Return the tables that have rows, in the order in which they are read; ``whole`` lists every metric."""
    tables = [failed_table(comparison)]
    for limits in comparison.limits:
        tables.append(verdict_table(comparison, limits, whole=whole))
        tables += [burst_table(comparison, limits), direction_table(comparison, limits)]
    tables += [settings_table(comparison, whole=whole), *([environment_table(comparison)] if whole else ())]
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
        verdict = comparison.verdict(limits, arm, metric.name)
        told = (show_change(verdict), verdict.outcome) if verdict else ()
        return Cell(mean, show_spread(values, metric.unit), verdict, *told)

    return tuple(
        Row(
            name,
            "MiB" if found[name].unit == "bytes" else found[name].unit,
            ARROWS[found[name].better],
            name in headlines,
            tuple(cell(arm, found[name]) for arm in comparison.arm_names),
        )
        for name in names
    )


def list_notes(comparison: Comparison, limits: str) -> Iterable[str]:
    """Yield what must be known to read the verdicts."""
    yield (
        "Mean of the rounds (least to most); change from the baseline in the same round [interval]; a verdict is a "
        "headline's interval that leaves out no change, and all verdicts on an arm hold together in 19 of 20 "
        "comparisons. ↓ lower, ↑ higher is better."
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
    cells = tuple(
        (row.limits, row.setting, *(row.values.get(arm, MISSING) for arm in arms), FAIR[row.fair]) for row in rows
    )
    notes = (f"{same} more settings are the same in all arms.",) if same else ()
    return Table("What differs between the arms", ("limits", "setting", *arms, "fair"), cells, notes)


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
