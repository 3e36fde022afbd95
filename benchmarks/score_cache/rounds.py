"""Runs in turn: every arm once a round, in another order each round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.score_cache.arm import Arm
from benchmarks.score_cache.outcome import Outcome, outcome_of
from benchmarks.score_cache.workload import Case
from stowage_testbed.simulate import Simulator

TIMEOUT_S = 600.0
ONE_CORE = {"GOMAXPROCS": "1"}


def run_rounds(
    case: Case,
    arms: Sequence[Arm],
    rounds: int,
    folder: Path,
    say: Callable[[str], None],
) -> Iterator[Outcome]:
    """Yield what each arm gave in each round.

    Each run has a process of its own, on one core.

    Parameters
    ----------
    case
        What arrives, and where.
    arms, rounds
        The arms that are measured, and how often.
    folder
        For configurations that are made.
    say
        Receives a line for each run.

    Raises
    ------
    StowageError
        The simulator failed.
    """
    instance = case.instance()
    for number in range(rounds):
        for arm in turned(arms, number):
            simulator = Simulator(
                arm.config(folder),
                timeout_s=TIMEOUT_S,
                feature_gates=arm.feature_gates,
                environment=ONE_CORE,
            )
            with simulator:
                found = simulator.place(instance)
            outcome = outcome_of(case.name, arm.name, number, instance, found)
            say(
                f"{case.name}: round {number + 1}, {arm.name}: "
                f"{outcome.pods_s:.0f} pods/s, Jain {outcome.jain:.4f}"
            )
            yield outcome


def turned(arms: Sequence[Arm], number: int) -> list[Arm]:
    """Return the arms, each first in its turn: what runs first finds a cold machine."""
    start = number % len(arms)
    return [*arms[start:], *arms[:start]]
