"""How values, changes, clocks and the leading sentence of a comparison are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log10
from typing import NamedTuple

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.verdicts import ArmVerdicts, Verdict
from stowage_testbed.metrics.record import RunRecord

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
    clocks = [record.clock for record in records]
    counts = {clock: clocks.count(clock) for clock in dict.fromkeys(clocks)}
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


class Summary(NamedTuple):
    """What is said of one arm under one kind of client limits."""

    arm: str
    limits: str
    text: str


def summarise(comparison: Comparison) -> tuple[Summary, ...]:
    """Return a summary for each arm that is compared with the baseline: the headlines in words."""
    return tuple(
        Summary(one.arm, one.limits, f"{lead_sentence(one)} {_write_rest(one)}".strip()) for one in comparison.verdicts
    )


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


def _write_rest(found: ArmVerdicts) -> str:
    """Return what became of the other headlines."""
    others = found.headlines[1:]
    named = {
        outcome: ", ".join(f"{one.name} {show_estimate(one)}" for one in others if one.outcome == outcome)
        for outcome in CALLED
    }
    parts = [f"{found.arm} is {outcome} in {names}" for outcome, names in named.items() if names]
    quiet = [one.name for one in others if one.outcome not in CALLED]
    if quiet:
        parts.append(f"no difference is shown in {', '.join(quiet)}")
    return f"Of the other headlines: {'; '.join(parts)}." if parts else ""
