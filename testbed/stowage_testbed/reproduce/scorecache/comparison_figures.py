"""From comparisons to figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import fmean

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.verdict_table import verdict_of
from stowage_testbed.compare.verdicts.verdict import Verdict
from stowage_testbed.reproduce.scorecache.comparisons import Planned
from stowage_testbed.text.figure import Figure, Target, at_most, figure

OURS = ("stowage", "stowage-score-cache")
NOT_SLOWER = ("t_sched_mean_s", "throughput_pods_per_s")
RATED = (*NOT_SLOWER, "scheduler_memory_peak_bytes", "ttr_s")
NONE = at_most(0)


def comparison_figures(planned: Planned, result: Result) -> Iterator[Figure]:
    """Yield each arm's metrics, and the changes from the baseline."""
    failed = [run for run in result.runs if run.error]
    yield figure(
        f"{planned.name}: runs that failed",
        "runs",
        [float(bool(run.error)) for run in result.runs],
        sum,
        NONE,
        spread=False,
        note="; ".join(f"{run.arm}: {run.error}" for run in failed),
    )
    for limits in result.comparison.limits:
        for arm in result.arms:
            yield from _of_arm(planned, result, limits, arm)
        for arm in result.others:
            yield from _changes(planned, result, limits, arm)
    yield from _outcomes(planned, result)


def _of_arm(planned: Planned, result: Result, limits: str, arm: str) -> Iterator[Figure]:
    for name in planned.metrics:
        metrics = result.metrics(limits, arm, name)
        if metrics:
            yield figure(
                f"{planned.name}, {limits} limits: {arm}: {name}",
                metrics[0].unit,
                result.values(limits, arm, name),
                fmean,
            )


def _changes(planned: Planned, result: Result, limits: str, arm: str) -> Iterator[Figure]:
    for name in RATED:
        verdict = verdict_of(result, limits, arm, name)
        if verdict is None or verdict.estimate is None:
            continue
        wanted = not_worse(verdict) if arm in OURS and name in NOT_SLOWER else None
        yield Figure(
            name=f"{planned.name}, {limits} limits: {arm} over default: {name}",
            value=verdict.estimate,
            unit="x" if verdict.scale == "ratio" else verdict.unit,
            target=wanted.text if wanted else "",
            met=wanted.holds(verdict.estimate) if wanted else None,
            runs=verdict.rounds,
            spread=tuple(v for v in (verdict.low, verdict.high) if v is not None),
            note=verdict.outcome,
        )


def not_worse(verdict: Verdict) -> Target:
    """Return the target that a change is none for the worse, as its verdict says."""
    return Target("not worse", lambda _: verdict.outcome != "worse")


def _outcomes(planned: Planned, result: Result) -> Iterator[Figure]:
    """Yield what became of the service in each run, if one was overloaded."""
    found = defaultdict[tuple[str, str], Counter[str]](Counter)
    for record in result.records:
        if record.recovery is not None:
            outcome = record.recovery.recovery.outcome
            found[record.arm, record.limits][outcome] += 1
    for (arm, limits), outcomes in found.items():
        total = outcomes.total()
        yield Figure(
            f"{planned.name}, {limits} limits: {arm}: outcomes", float(total), "runs",
            runs=total,
            note=", ".join(sorted(f"{n} {outcome}" for outcome, n in outcomes.items())),
        )  # fmt: skip
