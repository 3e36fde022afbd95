"""Which clock a comparison's figures were read from, and how fine it is, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stowage_testbed.metrics.record import RunRecord

MILLI = 1000


def name_clock(records: Iterable[RunRecord]) -> str:
    """Return the clock of the runs; with more than one, each with its runs."""
    clocks = [record.clock for record in records]
    counts = {clock: clocks.count(clock) for clock in dict.fromkeys(clocks)}
    if len(counts) < 2:  # noqa: PLR2004 - one clock for all
        return "".join(counts)
    return " and ".join(f"{clock} ({runs} runs)" for clock, runs in counts.items())


def describe_clocks(records: Sequence[RunRecord]) -> str:
    """Return the clock with its resolution, and what the watch says beside it."""
    steps = _range_ms([record.resolution_s for record in records])
    said = f"Clock: {name_clock(records)}, resolution {steps} ms."
    late = [one.answers_late_s for one in records if one.answers_late_s is not None]
    if late:
        said += (
            f" By the order of the writes, answers were up to {_range_ms(late)} ms "
            "late (ninth decile), which is taken off."
        )
    lags = [one.audit_lag_s for one in records if one.audit_lag_s is not None]
    if not lags:
        return f"{said} Not checked against the audit log."
    watched = [one.watch_resolution_s for one in records if one.watch_resolution_s is not None]
    apart = sum(record.audit_beyond for record in records)
    missing = sum(record.audit_missing for record in records)
    lacks = f", which lacks {missing} bindings" if missing else ""
    resolution = f", resolution {_range_ms(watched)} ms" if watched else ""
    return (
        f"{said} The watch came {_range_ms(lags)} ms behind the audit log "
        f"(medians){lacks}{resolution}, apart on {apart} events."
    )


def _range_ms(values_s: Sequence[float]) -> str:
    ends = dict.fromkeys((min(values_s), max(values_s)))
    return " to ".join(f"{value * MILLI:.3g}" for value in ends)
