"""From tries and compared plans to the figures of `results/reliability.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarks.faults.trial import Trial
from stowage_testbed.text.figure import Figure, Target, at_least, at_most, figure

OPTIMIZER, SCHEDULER, LIE = "kill-optimizer", "kill-scheduler", "lie"
OWN_FIGURES = (OPTIMIZER, SCHEDULER, LIE)
REFUSING = ("fill-etcd", "refuse-writes")
"""Faults by which the API server refuses what the scheduler writes."""
TRIES = {OPTIMIZER: 100, SCHEDULER: 50}
TRIES_OF_OTHERS = 20
HOLD_S = 1.0
RESUME_S = 10.0


def reliability_figures(trials: Sequence[Trial]) -> Iterator[Figure]:
    """Yield every figure; tries whose moment never came say nothing."""
    struck = [trial for trial in trials if trial.struck]
    yield from _optimizer_figures(_of(struck, OPTIMIZER))
    yield from _scheduler_figures(_of(struck, SCHEDULER))
    for fault in sorted({trial.fault for trial in struck} - set(OWN_FIGURES)):
        tried = _of(struck, fault)
        yield from _common(f"fault {fault}", tried, TRIES_OF_OTHERS)
        if fault in REFUSING:
            refused = [float(trial.refusals) for trial in tried]
            name = f"fault {fault}: writes refused in a try, fewest"
            yield _count(name, refused, min, at_least(1))
    yield from _lie_figures(_of(struck, LIE))
    second = [float(t.second_plan) for t in trials if t.second_plan is not None]
    yield _count("second plan on an unchanged cluster: moves", second, max, at_most(0))


def _of(trials: Sequence[Trial], fault: str) -> list[Trial]:
    return [trial for trial in trials if trial.fault == fault]


def _optimizer_figures(trials: Sequence[Trial]) -> Iterator[Figure]:
    name = "optimiser killed"
    yield from _common(name, trials, TRIES[OPTIMIZER])
    restarts = [float(trial.scheduler_restarts) for trial in trials]
    yield _count(f"{name}: scheduler restarts", restarts, sum, at_most(0))
    held = [trial.held_s - trial.limit_s for trial in trials if trial.held_s]
    yield figure(
        f"{name}: longest hold of a new pod beyond the limit", "s", held, max,
        at_most(HOLD_S, "s"), note="negative: shorter than the limit",
    )  # fmt: skip
    yield _broken(f"{name}: evictions without a stored plan", trials, "planned-evict")


def _scheduler_figures(trials: Sequence[Trial]) -> Iterator[Figure]:
    name = "scheduler killed"
    yield from _common(name, trials, TRIES[SCHEDULER])
    resumed = [trial.resumed_s for trial in trials if trial.resumed_s is not None]
    yield figure(
        f"{name}: open plan resumed or given up after", "s", resumed, max,
        at_most(RESUME_S, "s"), note="from the start of the successor's process",
    )  # fmt: skip
    for what, rule in (
        ("evictions issued twice", "evicted-once"),
        ("rooms taken from plans", "plan-room-taken"),
        ("rooms held after a plan", "room-left-held"),
        ("pods lost", "lost-pod"),
    ):
        yield _broken(f"{name}: {what}", trials, rule)


def _lie_figures(trials: Sequence[Trial]) -> Iterator[Figure]:
    name = "hostile optimiser"
    yield from _common(name, trials, TRIES_OF_OTHERS)
    writes = [float(trial.writes) for trial in trials]
    yield _count(f"{name}: API writes caused", writes, sum, at_most(0))


def _common(name: str, trials: Sequence[Trial], tries: int) -> Iterator[Figure]:
    yield _count(f"{name}: tries", [1.0] * len(trials), sum, at_least(tries))
    yield _broken(f"{name}: violations", trials, "")
    failed = [float(bool(trial.failures)) for trial in trials]
    yield _count(f"{name}: tries that did not recover", failed, sum, at_most(0))
    recovered = [t.recovered_s for t in trials if t.recovered_s is not None]
    yield figure(f"{name}: recovered after, longest", "s", recovered, max)


def _broken(name: str, trials: Sequence[Trial], rule: str) -> Figure:
    found = [float(sum(text.startswith(rule) for text in trial.violations)) for trial in trials]
    return _count(name, found, sum, at_most(0))


def _count(name: str, samples: Sequence[float], value: Callable[[Sequence[float]], float], target: Target) -> Figure:
    return figure(name, "times", samples, value, target, spread=False)
