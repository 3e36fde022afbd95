"""Every table of a saved run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_testbed.report.bundle import round_folder
from stowage_testbed.report.cells import (
    counts_cell,
    hashes_cell,
    optimal_cell,
    result_cell,
    rounds_cell,
    shares_cell,
)
from stowage_testbed.report.evidence_writer import FAILED
from stowage_testbed.report.limits import limited
from stowage_testbed.report.saved.run import SavedRun, SavedScenario
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.text.table import Table


def run_tables(run: SavedRun) -> tuple[Table, ...]:
    """Return the tables that have something to say: first what went wrong, then all."""
    return tuple(limited(table) for table in _tables(run) if table.rows)


def _tables(run: SavedRun) -> Iterator[Table]:
    failed = [one for one in run.scenarios if not one.passed]
    yield _checks_table(failed)
    yield _errors_table(failed)
    yield _divergences_table(run)
    yield _evidence_table(failed)
    yield _skipped_table(run.scenarios)
    yield _scenarios_table(run.scenarios)


def _checks_table(failed: Sequence[SavedScenario]) -> Table:
    rows = [
        (*_which(one), check.name, check.expected, check.actual, _in_words(check))
        for one in failed
        for check in one.failed_checks
    ]
    headers = ("scenario", "round", "check", "expected", "actual", "in words")
    shown = len(headers) if any(row[-1] for row in rows) else len(headers) - 1
    return Table("Failed checks", headers[:shown], tuple(row[:shown] for row in rows))


def _in_words(check: CheckResult) -> str:
    """Return the message if it says more than the cells beside it."""
    repeats = check.message.startswith(f"{check.name}: expected ")
    return "" if repeats else check.message


def _errors_table(failed: Sequence[SavedScenario]) -> Table:
    return Table(
        title="Not carried through",
        headers=("scenario", "round", "why"),
        rows=tuple((*_which(one), one.error) for one in failed if one.error),
    )


def _divergences_table(run: SavedRun) -> Table:
    return Table(
        title="Rounds that placed otherwise than the first",
        headers=("scenario", "round", "first workload that differs", "then", "now"),
        rows=tuple(
            (
                one.scenario,
                str(one.repeat),
                one.workload,
                ", ".join(one.first_nodes) or "no node",
                ", ".join(one.other_nodes) or "no node",
            )
            for one in run.divergences
        ),
    )


def _evidence_table(failed: Sequence[SavedScenario]) -> Table:
    return Table(
        title="Evidence",
        headers=("scenario", "round", "folder in the results"),
        rows=tuple((*_which(one), _evidence_folder(one)) for one in failed),
        notes=(
            "Each has pods, nodes, events, plans, logs and the audit log as they were "
            "when the scenario failed.",
        ),
    )


def _evidence_folder(one: SavedScenario) -> str:
    return f"{FAILED}/{round_folder(one.scenario_id, one.repeat)}"


def _skipped_table(scenarios: Sequence[SavedScenario]) -> Table:
    return Table(
        title="Skipped",
        headers=("scenario", "round", "why"),
        rows=tuple((*_which(one), one.skipped) for one in scenarios if one.skipped),
    )


def _scenarios_table(scenarios: Sequence[SavedScenario]) -> Table:
    rounds: dict[str, list[SavedScenario]] = {}
    for one in scenarios:
        rounds.setdefault(one.scenario_id, []).append(one)
    return Table(
        title="Scenarios",
        headers=("scenario", "result", "placed", "pending", "moves", "evictions",
                 "optimal", "cpu %", "memory %", "hash"),
        rows=tuple(_row(group) for group in rounds.values()),
        notes=(
            "Left of an arrow stands the deterministic phase, right of it what the "
            "optimiser made of it; hash is that of the first placements.",
        ),
    )  # fmt: skip


def _row(rounds: Sequence[SavedScenario]) -> tuple[str, ...]:
    shown = next((one for one in rounds if not one.passed), rounds[0])
    phases = shown.phases
    return (
        shown.scenario_id,
        _result(shown, rounds),
        counts_cell(phase.placed for phase in phases),
        counts_cell(phase.pending for phase in phases),
        str(shown.moves) if shown.planned else "-",
        str(shown.evictions) if shown.planned else "-",
        optimal_cell(shown.optimal),
        shares_cell([phase.utilisation["cpu"] for phase in phases]),
        shares_cell([phase.utilisation["memory"] for phase in phases]),
        hashes_cell(one.phases[0].placement_hash for one in rounds if one.phases),
    )


def _result(shown: SavedScenario, rounds: Sequence[SavedScenario]) -> str:
    if shown.skipped:
        return "skipped"
    result = result_cell(shown.error, len(shown.failed_checks))
    return f"{result}{rounds_cell(one.passed for one in rounds)}"


def _which(one: SavedScenario) -> tuple[str, str]:
    return one.scenario_id, str(one.repeat)
