"""Answers for many small clusters: which claims are false, how many are best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.proofs.verdict import Verdict, judge, judge_through_scheduler
from stowage_testbed.simulate import SchedulerVerifier, find_profile

PIECE = 100
"""Cases that are measured together."""

BEST = 0.99
"""Share of the cases that are to be answered with the best plan."""

OPTIMISER, SCHEDULER = "optimiser", "scheduler"
"""Who is asked: the optimiser about a snapshot, or a scheduler about objects, which it
makes the snapshot of."""

UNSUPPORTED = "scheduler, a class unsupported"
"""The same, where no plan can contain the pods of a class."""

ASKED = (OPTIMISER, SCHEDULER, UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Piece:
    """What came of `PIECE` cases, of which ``first`` is the first one.

    ``worse`` are those not answered with the best plan, ``faults`` are false
    claims and broken rules, a line each.
    """

    strategy: str
    asked: str
    first: int
    proved: int
    worse: tuple[int, ...]
    faults: tuple[str, ...]


def measure(first: int, strategy: str, asked: str = OPTIMISER) -> Piece:
    """Return what comes of the cases from ``first`` on."""
    with _judging(strategy, asked) as verdict_on:
        verdicts = {seed: verdict_on(seed) for seed in range(first, first + PIECE)}
    return Piece(
        strategy=strategy,
        asked=asked,
        first=first,
        proved=sum(one.proved for one in verdicts.values()),
        worse=tuple(seed for seed, one in verdicts.items() if not one.best),
        faults=tuple(f"case {seed} by the {asked}: {fault}" for seed, one in verdicts.items() for fault in one.faults),
    )


@contextmanager
def _judging(strategy: str, asked: str) -> Iterator[Callable[[int], Verdict]]:
    if asked == OPTIMISER:
        yield lambda seed: judge(seed, strategy)
        return
    unsupported = asked == UNSUPPORTED
    with SchedulerVerifier(find_profile("deterministic")) as verifier:
        yield lambda seed: judge_through_scheduler(seed, strategy, verifier, unsupported=unsupported)
