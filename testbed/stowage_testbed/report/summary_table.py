"""The table at the end of a run: one line for each scenario run."""

from __future__ import annotations

from collections.abc import Iterable

from tabulate import tabulate

from stowage_testbed.report.cells import (
    counts_cell,
    hashes_cell,
    optimal_cell,
    result_cell,
    rounds_cell,
    shares_cell,
)
from stowage_testbed.run.latency import Latency
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome

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
        counts_cell(phase.placed for phase in phases),
        counts_cell(phase.pending for phase in phases),
        str(outcome.moves) if planned else "-",
        str(outcome.evictions) if planned else "-",
        optimal_cell(outcome.optimal),
        shares_cell([float(phase.utilisation["cpu"]) for phase in phases]),
        shares_cell([float(phase.utilisation["memory"]) for phase in phases]),
        _percentiles(phases[0].latency) if phases else "-",
        str(phases[0].latency.n) if phases else "-",
        _hashes(rounds),
        _result(outcome, rounds),
    ]


def _percentiles(latency: Latency) -> str:
    return "/".join(
        "-" if item.value is None else f"{item.value * MILLI:.0f}"
        for item in latency.percentiles
    )


def _hashes(rounds: list[ScenarioOutcome]) -> str:
    return hashes_cell(item.phases[0].placement_hash for item in rounds if item.phases)


def _result(shown: ScenarioOutcome, rounds: list[ScenarioOutcome]) -> str:
    if shown.skipped:
        return "skipped"
    result = result_cell(shown.error, len(shown.failed_checks))
    return f"{result}{rounds_cell(item.passed for item in rounds)}"
