"""The whole of `stowage fault`: a cluster, the tries, the figures."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.faults.agreement import compare_random_plans
from stowage_testbed.faults.cluster import open_fault_cluster
from stowage_testbed.faults.journal import TrialJournal, build_mark
from stowage_testbed.faults.results import NAME, write_results
from stowage_testbed.faults.suite import Suite
from stowage_testbed.scenario.model import Scenario


def run_agreement(seed: int, plans: int, results: Path) -> str:
    """Verify random plans with both verifiers, write the results, return their table.

    Raises
    ------
    StowageError
        A tool is missing, or one side does not understand the other.
    """
    folder = results / NAME
    compare_random_plans(folder, seed, plans)
    return write_results(results, _journal(folder).trials())


def _journal(folder: Path) -> TrialJournal:
    return TrialJournal(folder / f"trials-{build_mark()}.jsonl")


def run_faults(
    scenarios: Sequence[Scenario],
    seed: int,
    results: Path,
    say: Callable[[str], None],
    tries: int | None = None,
) -> tuple[str, int]:
    """Try scenarios and write ``reliability.json``.

    Parameters
    ----------
    scenarios
        Each has a fault.
    seed
        Everything that is drawn comes from it.
    results
        Folder of the results. What was tried before with the same scheduler and
        optimiser is kept there and counts.
    say
        Receives a line for each step.
    tries
        Of each scenario; its own number without.

    Returns
    -------
    tuple
        The figures as a table, and how many of these tries failed.
    """
    folder = results / NAME
    journal = _journal(folder)
    for name in purge_clusters():
        say(f"leftover cluster {name}: removed")
    name = f"fault-{secrets.token_hex(3)}"
    say(f"cluster {name}: up")
    failed = []
    try:
        with open_fault_cluster(name, (results,)) as cluster:
            suite = Suite(cluster, journal, seed, folder, say, tries)
            failed = suite.run(scenarios)
    finally:
        # Also of a run that was interrupted: what was tried was tried.
        table = write_results(results, journal.trials())
    return table, len(failed)
