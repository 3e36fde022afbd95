"""`reliability.json`: every figure of faults and agreement, and tries that failed."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from benchmarks.agreement.differential import compare_random_plans, running_verifiers
from benchmarks.command import Say, write_figures
from benchmarks.faults.figures import (
    agreement_figures,
    churn_curve,
    reliability_figures,
)
from benchmarks.faults.session import NAME, build_mark, run_faults, trial_journal
from benchmarks.faults.settings import load_faults
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.whole_file import write_whole


def run_benchmark(
    names: Collection[str], tries: int | None, seed: int, results: Path, say: Say
) -> str:
    """Try these faults, every one without a name; return the figures as a table.

    Raises
    ------
    InputError
        There is no fault of a name.
    StowageError
        Something was lost in a try, or the tries could not go on.
    """
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


def run_agreement(plans: int, seed: int, results: Path) -> str:
    """Verify random plans with both verifiers, and keep the counts, one file a seed."""
    with running_verifiers() as verifiers:
        counts = compare_random_plans(verifiers, seed, plans).figures()
    path = results / NAME / f"agreement-{build_mark()}-{seed}.json"
    write_whole(path, json.dumps(counts, indent=1) + "\n")
    return write_results(results)


def write_results(results: Path) -> str:
    """Write ``<results>/reliability.json`` and return the figures as a table.

    It has all tries and plans of the scheduler and optimiser of now, of every seed.
    """
    trials = trial_journal(results).records()
    files = sorted((results / NAME).glob(f"agreement-{build_mark()}-*.json"))
    counts = [json.loads(file.read_text("utf-8")) for file in files]
    figures = [*reliability_figures(trials), *agreement_figures(counts)]
    return write_figures(
        results / f"{NAME}.json",
        figures,
        churn=churn_curve(trials),
        agreement=counts,
        seeds=sorted({trial.seed for trial in trials}),
        failed=[trial.document() for trial in trials if not trial.passed],
        missed=sum(not trial.struck for trial in trials),
    )
