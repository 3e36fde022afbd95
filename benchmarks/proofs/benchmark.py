"""`proofs.json`: of many small clusters, how many false claims, how many best plans."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.proofs.verdict import (
    Verdict,
    judge,
    judge_through_scheduler,
    judge_unsupported,
)
from stowage_testbed.base.journal import Journal
from stowage_testbed.simulate import SchedulerVerifier, find_profile
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain.environment import fingerprint

NAME = "proofs"

PIECE = 100
"""Cases that are written down together: a run that was interrupted goes on after."""

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
    """What came of `PIECE` cases.

    Parameters
    ----------
    asked
        one of `ASKED`.
    first
        Number of the first one.
    worse
        The cases that are not answered with the best plan.
    faults
        A line for each false claim or broken rule.
    """

    strategy: str
    asked: str
    first: int
    proved: int
    worse: tuple[int, ...]
    faults: tuple[str, ...]


def run_benchmark(
    cases: int, strategy: str, processes: int, results: Path, say: Say
) -> str:
    """Judge the first ``cases``; write ``<results>/proofs.json``, return the table.

    Raises
    ------
    ToolMissingError
        ``stowage-simulate`` is not installed.
    """
    journal = Journal(results / NAME / f"pieces-{fingerprint()}.jsonl", Piece)
    known = {
        (one.first, one.asked) for one in journal.records() if one.strategy == strategy
    }
    open_ = [
        (first, strategy, asked)
        for first, asked in product(range(0, cases, PIECE), ASKED)
        if (first, asked) not in known
    ]
    with ProcessPoolExecutor(
        processes, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        for piece in pool.map(measure, *zip(*open_, strict=True)) if open_ else ():
            journal.add(piece)
            say(
                f"cases {piece.first} to {piece.first + PIECE - 1} by the "
                f"{piece.asked}: {len(piece.worse)} worse"
            )
            for fault in piece.faults:
                say(fault)
    pieces = [
        one
        for one in journal.records()
        if one.strategy == strategy and one.first < cases
    ]
    return write_figures(
        results / f"{NAME}.json", figures(pieces), {"strategy": strategy}
    )


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
        faults=tuple(
            f"case {seed} by the {asked}: {fault}"
            for seed, one in verdicts.items()
            for fault in one.faults
        ),
    )


@contextmanager
def _judging(strategy: str, asked: str) -> Iterator[Callable[[int], Verdict]]:
    if asked == OPTIMISER:
        yield lambda seed: judge(seed, strategy)
        return
    with SchedulerVerifier(find_profile("deterministic")) as verifier:
        judge_one = (
            judge_unsupported if asked == UNSUPPORTED else judge_through_scheduler
        )
        yield lambda seed: judge_one(seed, strategy, verifier)


def figures(pieces: list[Piece]) -> list[Figure]:
    """Return the figures of all cases of ``pieces``."""
    return [
        figure
        for asked in ASKED
        if (of := [one for one in pieces if one.asked == asked])
        for figure in _figures_of(of, f"by the {asked}")
    ]


def _figures_of(pieces: list[Piece], how: str) -> Iterator[Figure]:
    cases = PIECE * len(pieces)
    faults = sum(len(one.faults) for one in pieces)
    best = 1 - sum(len(one.worse) for one in pieces) / cases
    proved = sum(one.proved for one in pieces) / cases
    yield Figure(f"false claims {how}", faults, "claims", "0", faults == 0, cases)
    if not how.endswith(UNSUPPORTED):
        target = f">= {BEST}"
        yield Figure(f"best plans {how}", best, "share", target, best >= BEST, cases)
    yield Figure(f"proved {how}", proved, "share", runs=cases)
