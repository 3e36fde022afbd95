"""`reliability.json`: every figure of faults, and tries that failed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.faults.figures import churn_curve, reliability_figures
from benchmarks.faults.session import NAME, run_faults, trial_journal
from benchmarks.faults.settings import load_faults
from stowage_testbed.base.errors import StowageError


def run_benchmark(
    names: Collection[str], tries: int | None, seed: int, results: Path, say: Say
) -> str:
    """Try these faults, every one without a name; return the figures as a table."""
    chosen = load_faults(names)
    try:
        failed = run_faults(chosen, seed, results, say, tries)
    finally:
        # Also of a run that was interrupted: what was tried was tried.
        shown = write_results(results)
    if failed:
        say(shown)
        raise StowageError(f"{len(failed)} tries failed; {results / NAME} has evidence")
    return shown


def write_results(results: Path) -> str:
    """Write ``<results>/reliability.json`` and return the figures as a table.

    It has all tries of the scheduler and optimiser of now, of every seed.
    """
    trials = trial_journal(results).records()
    return write_figures(
        results / f"{NAME}.json",
        list(reliability_figures(trials)),
        churn=churn_curve(trials),
        seeds=sorted({trial.seed for trial in trials}),
        failed=[trial.document() for trial in trials if not trial.passed],
        missed=sum(not trial.struck for trial in trials),
    )
