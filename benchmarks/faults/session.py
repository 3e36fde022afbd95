"""All tries of some faults, one after the other on one cluster; resumable. And their figures."""

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.engine import Say, build_of
from benchmarks.faults.attempt import Attempt
from benchmarks.faults.cluster import FaultCluster, open_fault_cluster
from benchmarks.faults.context import Fault, load_faults
from benchmarks.faults.trial import Trial
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import Journal
from stowage_testbed.cluster.listing import purge_clusters
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

NAME = "reliability"
PATIENCE = 2
"""Attempts for each try that is asked for: a moment may be missed."""


def run_benchmark(names: Collection[str], tries: int | None, seed: int, results: Path, say: Say) -> str:
    """Try these faults, every one without a name; return the figures as a table.

    What was tried before with the same scheduler and optimiser counts.
    """
    chosen = load_faults(names)
    for name in purge_clusters():
        say(f"leftover cluster {name}: removed")
    name = f"fault-{secrets.token_hex(3)}"
    say(f"cluster {name}: up")
    try:
        with open_fault_cluster(name, (results,)) as cluster:
            trials = [one for fault in chosen for one in tries_of(cluster, fault, results, say, tries=tries, seed=seed)]
    finally:
        # Also of a run that was interrupted: what was tried was tried.
        shown = write_results(results)
    return must_have_passed(trials, shown, results / NAME, say)


def tries_of(
    cluster: FaultCluster, fault: Fault, results: Path, say: Say, *, tries: int | None, seed: int
) -> Iterator[Trial]:
    """Yield the tries of a fault: the known ones, then those that are left."""
    wanted, journal = fault.settings.tries if tries is None else tries, trial_journal(results)
    number = struck = 0
    for trial in journal.records():
        if (trial.scenario, trial.seed) == (fault.scenario.name, seed):
            yield trial
            struck += trial.struck
            number = max(number, trial.number)
    while struck < wanted and number < PATIENCE * wanted:
        number += 1
        trial = Attempt(cluster, on_fresh_nodes(fault, number), number, seed, results / NAME).run()
        journal.add(trial)
        say(trial.in_words())
        struck += trial.struck
        yield trial


def must_have_passed(trials: Sequence[Trial], shown: str, evidence: Path, say: Say) -> str:
    """Return the figures that are shown, of tries of which none failed."""
    failed = sum(not trial.passed for trial in trials)
    if failed:
        say(shown)
        raise StowageError(f"{failed} tries failed; {evidence} has evidence")
    return shown


def trial_journal(results: Path) -> Journal[Trial]:
    """Return the tries so far with the scheduler and the optimiser of now."""
    return Journal(results / NAME / f"trials-{build_of('stowage-scheduler')}.jsonl", Trial)


def on_fresh_nodes(fault: Fault, number: int) -> Fault:
    """Return the fault in a world with node names of its own.

    KWOK may overlook a node that comes back under a name that was used just before:
    pods that are bound to it are then never started.
    """
    pools = (replace(pool, name_prefix=f"{pool.name_prefix}-{number}") for pool in fault.scenario.nodes)
    return replace(fault, scenario=replace(fault.scenario, nodes=tuple(pools)))


def write_results(results: Path) -> str:
    """Write ``<results>/reliability.json`` and return the figures as a table.

    It has all tries of the scheduler and optimiser of now, of every seed.
    """
    trials = trial_journal(results).records()
    return write_figures(
        results / f"{NAME}.json",
        list(reliability_figures(trials)),
        {},
        seeds=sorted({trial.seed for trial in trials}),
        failed=[trial.document() for trial in trials if not trial.passed],
        missed=sum(not trial.struck for trial in trials),
    )


OPTIMIZER, SCHEDULER, LIE = "kill-optimizer", "kill-scheduler", "lie"
NAMES = {OPTIMIZER: "optimiser killed", SCHEDULER: "scheduler killed", LIE: "hostile optimiser"}
REFUSING = ("fill-etcd", "refuse-writes")
"""Faults by which the API server refuses what the scheduler writes."""
TRIES = {OPTIMIZER: 100, SCHEDULER: 50}
TRIES_OF_OTHERS = 20
HOLD_S = 1.0
RESUME_S = 10.0

BROKEN = {
    OPTIMIZER: {"evictions without a stored plan": "planned-evict"},
    SCHEDULER: {
        "evictions issued twice": "evicted-once",
        "rooms taken from plans": "plan-room-taken",
        "rooms held after a plan": "room-left-held",
        "pods lost": "lost-pod",
    },
}
"""By fault, the invariants that have a figure of their own."""


def reliability_figures(trials: Sequence[Trial]) -> Iterator[Figure]:
    """Yield every figure; tries whose moment never came say nothing."""
    struck = [trial for trial in trials if trial.struck]
    others = sorted({trial.fault for trial in struck} - set(NAMES))
    for fault in (OPTIMIZER, SCHEDULER, *others, LIE):
        name = NAMES.get(fault, f"fault {fault}")
        yield from _figures_of(fault, name, [trial for trial in struck if trial.fault == fault])
    second = [float(t.second_plan) for t in trials if t.second_plan is not None]
    yield _count("second plan on an unchanged cluster: moves", second, max, at_most(0))


def _figures_of(fault: str, name: str, tried: Sequence[Trial]) -> Iterator[Figure]:
    yield _count(f"{name}: tries", [1.0] * len(tried), sum, at_least(TRIES.get(fault, TRIES_OF_OTHERS)))
    for what, rule in {"violations": "", **BROKEN.get(fault, {})}.items():
        broken = [float(sum(text.startswith(rule) for text in trial.violations)) for trial in tried]
        yield _count(f"{name}: {what}", broken, sum, at_most(0))
    failed = [float(bool(trial.failures)) for trial in tried]
    yield _count(f"{name}: tries that did not recover", failed, sum, at_most(0))
    recovered = [trial.recovered_s for trial in tried if trial.recovered_s is not None]
    yield figure(f"{name}: recovered after, longest", "s", recovered, max)
    if fault == OPTIMIZER:
        restarts = [float(trial.scheduler_restarts) for trial in tried]
        yield _count(f"{name}: scheduler restarts", restarts, sum, at_most(0))
        held = [trial.held_s - trial.limit_s for trial in tried if trial.held_s]
        yield figure(
            f"{name}: longest hold of a new pod beyond the limit", "s", held, max,
            at_most(HOLD_S, "s"), note="negative: shorter than the limit",
        )  # fmt: skip
    elif fault == SCHEDULER:
        resumed = [trial.resumed_s for trial in tried if trial.resumed_s is not None]
        yield figure(
            f"{name}: open plan resumed or given up after", "s", resumed, max,
            at_most(RESUME_S, "s"), note="from the start of the successor's process",
        )  # fmt: skip
    elif fault == LIE:
        yield _count(f"{name}: API writes caused", [float(trial.writes) for trial in tried], sum, at_most(0))
    elif fault in REFUSING:
        refused = [float(trial.refusals) for trial in tried]
        yield _count(f"{name}: writes refused in a try, fewest", refused, min, at_least(1))


def _count(name: str, samples: Sequence[float], value: Callable[[Sequence[float]], float], target: Target) -> Figure:
    return figure(name, "times", samples, value, target, spread=False)
