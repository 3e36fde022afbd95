"""The table at the end of a run: one line for each scenario run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from tabulate import tabulate

from testbed.run.latency import Latency
from testbed.run.outcome import PhaseOutcome, RunOutcome, ScenarioOutcome

HASH_SHOWN = 10
MILLI = 1000

HEADERS = (
    "scenario",
    "variant",
    "placed",
    "pending",
    "moves",
    "evictions",
    "optimal",
    "cpu %",
    "memory %",
    "p50/p90/p99 ms",
    "n",
    "hash",
    "result",
)


def summary_table(outcomes: Iterable[ScenarioOutcome]) -> str:
    """Return the table; figures are "before → after" where there are two halves.

    Rounds of one scenario share a line. It shows the first round that failed, else the
    first round, and in ``result`` how many passed.
    """
    rounds: dict[str, list[ScenarioOutcome]] = {}
    for outcome in outcomes:
        rounds.setdefault(outcome.scenario.scenario_id, []).append(outcome)
    rows = [_row(group) for group in rounds.values()]
    return tabulate(rows, headers=HEADERS, tablefmt="simple", disable_numparse=True)


def summary_note(outcome: RunOutcome) -> str:
    """Return what the reader of the table must know of its figures."""
    latencies = [item.phases[0].latency for item in outcome.outcomes if item.phases]
    if not latencies:
        return "No scenario settled, so there is no latency to report."
    resolutions = [item.resolution_s for item in latencies]
    lags = [item.audit_lag_s for item in latencies if item.audit_lag_s is not None]
    behind = f", {_range_ms(lags)} behind the audit log (medians)" if lags else ""
    return (
        "Latency: pod created to bound in the deterministic phase, or in the window "
        "that the steps measure, clock: "
        f"{latencies[0].clock}{behind}, resolution {_range_ms(resolutions)}; "
        "a percentile with too small an n is left out (-)."
    )


def _range_ms(seconds: list[float]) -> str:
    low, high = (f"{value * MILLI:.1f}" for value in (min(seconds), max(seconds)))
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _row(rounds: list[ScenarioOutcome]) -> list[str]:
    outcome = next((item for item in rounds if not item.passed), rounds[0])
    phases = outcome.phases
    planned = outcome.after is not None or outcome.end is not None
    return [
        outcome.scenario.name,
        outcome.scenario.variant or "-",
        _counts(phases, "placed"),
        _counts(phases, "pending"),
        str(outcome.moves) if planned else "-",
        str(outcome.evictions) if planned else "-",
        {True: "yes", False: "no", None: "-"}[outcome.optimal],
        _shares(phases, "cpu"),
        _shares(phases, "memory"),
        _percentiles(phases[0].latency) if phases else "-",
        str(phases[0].latency.n) if phases else "-",
        _hashes(rounds),
        _result(outcome, rounds),
    ]


def _counts(
    phases: Sequence[PhaseOutcome], figure: Literal["placed", "pending"]
) -> str:
    return " → ".join(str(getattr(phase, figure)) for phase in phases) or "-"


def _shares(phases: Sequence[PhaseOutcome], resource: str) -> str:
    if not phases:
        return "-"
    first = float(phases[0].utilisation[resource]) * 100
    if len(phases) == 1:
        return f"{first:.1f}"
    last = float(phases[-1].utilisation[resource]) * 100
    return f"{first:.1f} → {last:.1f} ({last - first:+.1f})"


def _percentiles(latency: Latency) -> str:
    return "/".join(
        "-" if item.value is None else f"{item.value * MILLI:.0f}"
        for item in latency.percentiles
    )


def _hashes(rounds: list[ScenarioOutcome]) -> str:
    hashes = {item.phases[0].placement_hash for item in rounds if item.phases}
    if len(hashes) > 1:
        return f"{len(hashes)} differ"
    return next(iter(hashes), "-")[:HASH_SHOWN]


def _result(shown: ScenarioOutcome, rounds: list[ScenarioOutcome]) -> str:
    result = "passed"
    if shown.error:
        result = "ERROR"
    elif shown.failed_checks:
        result = f"FAILED ({len(shown.failed_checks)})"
    if len(rounds) == 1:
        return result
    return f"{result} {sum(item.passed for item in rounds)}/{len(rounds)}"
