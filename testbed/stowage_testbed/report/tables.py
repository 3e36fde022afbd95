"""Every table of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stowage_testbed.amounts.resources import order
from stowage_testbed.metrics.latency import SUMMARY_RANKS
from stowage_testbed.report.bundle import name_round_folder
from stowage_testbed.report.evidence import FAILED
from stowage_testbed.report.limits import limit
from stowage_testbed.run.outcome import Latency, RunResult, ScenarioResult
from stowage_testbed.text.tables import Table

MILLI = 1000
NOTHING = "-"
HASH_SHOWN = 10
PERCENTILES = tuple(f"p{rank:g}" for rank in SUMMARY_RANKS)


def make_tables(run: RunResult) -> tuple[Table, ...]:
    """Return the tables that have something to say: first what went wrong, then all."""
    return tuple(limit(table) for table in _make_tables(run) if table.rows)


def _make_tables(run: RunResult) -> Iterator[Table]:
    failed = [one for one in run.scenarios if not one.passed]
    yield _tabulate_checks(failed)
    yield _tabulate_reasons("Not carried through", ((one, one.error) for one in failed))
    yield _tabulate_divergences(run)
    yield _tabulate_evidence(failed)
    yield _tabulate_reasons("Skipped", ((one, one.skipped) for one in run.scenarios))
    yield _tabulate_scenarios(run.scenarios)


def _tabulate_checks(failed: Sequence[ScenarioResult]) -> Table:
    rows = [
        (
            *_identify(one),
            check.name,
            check.expected,
            check.actual,
            # The message, if it says more than the cells beside it.
            "" if check.message.startswith(f"{check.name}: expected ") else check.message,
        )
        for one in failed
        for check in one.failed_checks
    ]
    headers = ("scenario", "round", "check", "expected", "actual", "in words")
    shown = len(headers) if any(row[-1] for row in rows) else len(headers) - 1
    return Table("Failed checks", headers[:shown], tuple(row[:shown] for row in rows))


def _tabulate_reasons(title: str, why: Iterable[tuple[ScenarioResult, str]]) -> Table:
    rows = tuple((*_identify(one), reason) for one, reason in why if reason)
    return Table(title, ("scenario", "round", "why"), rows)


def _tabulate_divergences(run: RunResult) -> Table:
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


def _tabulate_evidence(failed: Sequence[ScenarioResult]) -> Table:
    return Table(
        title="Evidence",
        headers=("scenario", "round", "folder in the results"),
        rows=tuple((*_identify(one), f"{FAILED}/{name_round_folder(one.scenario_id, one.repeat)}") for one in failed),
        notes=("Each has pods, nodes, events, plans, logs and the audit log as they were when the scenario failed.",),
    )


def _tabulate_scenarios(scenarios: Sequence[ScenarioResult]) -> Table:
    """Return a line a scenario: its first round that failed, else its first round."""
    rounds: dict[str, list[ScenarioResult]] = {}
    for one in scenarios:
        rounds.setdefault(one.scenario_id, []).append(one)
    reached = [one.utilisation for run in scenarios for one in run.checkpoints]
    resources = order({name for shares in reached for name in shares})
    return Table(
        title="Scenarios",
        headers=("scenario", "result", "placed", "pending", "moves", "evictions",
                 "optimal", *(f"{name} %" for name in resources),
                 f"{'/'.join(PERCENTILES)} ms", "n", "hash"),
        rows=tuple(_make_row(one, resources) for one in rounds.values()),
        notes=(
            "An arrow leads from one checkpoint to the next. Hash is that of the first placements.",
            _note_latency(scenarios),
            *_note_late_pods(scenarios),
        ),
    )  # fmt: skip


def _make_row(rounds: Sequence[ScenarioResult], resources: Sequence[str]) -> tuple[str, ...]:
    shown = next((one for one in rounds if not one.passed), rounds[0])
    checkpoints = shown.checkpoints
    latency = checkpoints[0].latency if checkpoints else None
    return (
        shown.scenario_id,
        _show_result(shown, rounds),
        _show_counts(one.placed for one in checkpoints),
        _show_counts(one.pending for one in checkpoints),
        str(shown.moves) if shown.is_planned else NOTHING,
        str(shown.evictions) if shown.is_planned else NOTHING,
        {True: "yes", False: "no", None: NOTHING}[shown.optimal],
        *(
            _show_shares([one.utilisation[name] for one in checkpoints if name in one.utilisation])
            for name in resources
        ),
        _show_percentiles(latency) if latency else NOTHING,
        str(latency.n) if latency else NOTHING,
        _show_hash(rounds),
    )


def _show_result(shown: ScenarioResult, rounds: Sequence[ScenarioResult]) -> str:
    if shown.skipped:
        return "skipped"
    failed = len(shown.failed_checks)
    result = f"FAILED ({failed})" if failed else "passed"
    passed = sum(one.passed for one in rounds)
    of_all = f" {passed}/{len(rounds)}" if len(rounds) > 1 else ""
    return f"{'ERROR' if shown.error else result}{of_all}"


def _show_counts(counts: Iterable[int]) -> str:
    """Return one count a checkpoint, as in ``2 → 3``."""
    return " → ".join(str(count) for count in counts) or NOTHING


def _show_shares(shares: Sequence[float]) -> str:
    """Return the first and last share in percent, and what came on top."""
    if not shares:
        return NOTHING
    first, last = shares[0] * 100, shares[-1] * 100
    if len(shares) == 1:
        return f"{first:.1f}"
    return f"{first:.1f} → {last:.1f} ({last - first:+.1f})"


def _show_percentiles(latency: Latency) -> str:
    found = (latency.percentiles_s.get(name) for name in PERCENTILES)
    return "/".join(NOTHING if one is None else f"{one * MILLI:.0f}" for one in found)


def _show_hash(rounds: Sequence[ScenarioResult]) -> str:
    """Return the beginning of the rounds' one hash, or how many there are."""
    different = {one.checkpoints[0].placement_hash for one in rounds if one.checkpoints}
    if len(different) > 1:
        return f"{len(different)} differ"
    return next(iter(different), NOTHING)[:HASH_SHOWN]


def _note_latency(scenarios: Sequence[ScenarioResult]) -> str:
    """Return what the reader must know of the latencies."""
    latencies = [one.checkpoints[0].latency for one in scenarios if one.checkpoints]
    if not latencies:
        return "No scenario settled, so there is no latency to report."
    lags = [item.audit_lag_s for item in latencies if item.audit_lag_s is not None]
    behind = f", {_show_range_ms(lags)} behind the audit log (medians)" if lags else ""
    resolution = _show_range_ms([item.resolution_s for item in latencies])
    return (
        "Latency: pod created to bound before the first checkpoint, or in the window "
        f"that the steps measure, clock: {latencies[0].clock}{behind}, resolution "
        f"{resolution}; a percentile with too small an n is left out (-)."
    )


def _show_range_ms(seconds: Sequence[float]) -> str:
    low, high = (f"{value * MILLI:.1f}" for value in (min(seconds), max(seconds)))
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def _note_late_pods(scenarios: Sequence[ScenarioResult]) -> Iterator[str]:
    """Yield each step that did something later than it should have."""
    for one in scenarios:
        for step in one.steps:
            if step.facts.get("late"):
                done = f"{step.facts['pods']:g} pods were created"
                if "requests" in step.facts:
                    done = f"{step.facts['requests']:g} requests were sent"
                yield (
                    f"{one.scenario_id} round {one.repeat}, step {step.number} "
                    f"({step.kind}, line {step.line}): {step.facts['late']:g} of "
                    f"{done} late, by {step.facts['latest_s']:.2f} s at most"
                )


def _identify(one: ScenarioResult) -> tuple[str, str]:
    return one.scenario_id, str(one.repeat)
