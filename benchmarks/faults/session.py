"""All tries of some faults, one after the other on one cluster; resumable."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.faults.attempt import Attempt
from benchmarks.faults.cluster import FaultCluster, open_fault_cluster
from benchmarks.faults.figures import reliability_figures
from benchmarks.faults.settings import Fault, load_faults
from benchmarks.faults.trial import Trial
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import Journal
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import fingerprint

NAME = "reliability"
PATIENCE = 2
"""Attempts for each try that is asked for: a moment may be missed."""

_MARK_LENGTH = 12


def run_faults(
    faults: Sequence[Fault], seed: int, results: Path, say: Callable[[str], None], tries: int | None = None
) -> list[Trial]:
    """Try each fault as often as is asked, and return the tries that failed.

    What was tried before with the same scheduler and optimiser counts.
    """
    for name in purge_clusters():
        say(f"leftover cluster {name}: removed")
    name = f"fault-{secrets.token_hex(3)}"
    say(f"cluster {name}: up")
    with open_fault_cluster(name, (results,)) as cluster:
        suite = Suite(cluster, trial_journal(results), seed, results / NAME, say, tries)
        all_tries = [trial for one in faults for trial in suite.tries_of(one)]
    return [trial for trial in all_tries if not trial.passed]


def trial_journal(results: Path) -> Journal[Trial]:
    """Return the tries so far with the scheduler and the optimiser of now."""
    return Journal(results / NAME / f"trials-{build_mark()}.jsonl", Trial)


def build_mark() -> str:
    """Return a short hash of the scheduler and the optimiser that are tried."""
    scheduler = tool_build("stowage-scheduler", choose_minor())
    digest = hashlib.sha256(f"{scheduler} {fingerprint()}".encode()).hexdigest()
    return digest[:_MARK_LENGTH]


def on_fresh_nodes(fault: Fault, number: int) -> Fault:
    """Return the fault in a world with node names of its own.

    KWOK may overlook a node that comes back under a name that was used just before:
    pods that are bound to it are then never started.
    """
    pools = (replace(pool, name_prefix=f"{pool.name_prefix}-{number}") for pool in fault.scenario.nodes)
    return replace(fault, scenario=replace(fault.scenario, nodes=tuple(pools)))


@dataclass(frozen=True, slots=True)
class Suite:
    """How faults are tried; the parameters are those of `run_faults`."""

    cluster: FaultCluster
    journal: Journal[Trial]
    seed: int
    evidence: Path
    say: Callable[[str], None]
    tries: int | None = None

    def tries_of(self, fault: Fault) -> Iterator[Trial]:
        """Yield the tries of a fault: the known ones, then those that are left."""
        wanted = fault.settings.tries if self.tries is None else self.tries
        number = struck = 0
        for trial in self.journal.records():
            if (trial.scenario, trial.seed) == (fault.scenario.name, self.seed):
                yield trial
                struck += trial.struck
                number = max(number, trial.number)
        while struck < wanted and number < PATIENCE * wanted:
            number += 1
            fresh = on_fresh_nodes(fault, number)
            trial = Attempt(self.cluster, fresh, number, self.seed, self.evidence).run()
            self.journal.add(trial)
            self.say(trial.in_words())
            struck += trial.struck
            yield trial


def run_benchmark(names: Collection[str], tries: int | None, seed: int, results: Path, say: Say) -> str:
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
        seeds=sorted({trial.seed for trial in trials}),
        failed=[trial.document() for trial in trials if not trial.passed],
        missed=sum(not trial.struck for trial in trials),
    )
