"""`proofs.json`: of many small clusters, how many false claims, how many best plans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.proofs.verdict import judge
from stowage_testbed.environment import fingerprint
from stowage_testbed.journal import Journal
from stowage_testbed.text.figure import Figure

NAME = "proofs"

PIECE = 100
"""Cases that are written down together: a run that was interrupted goes on after."""


BEST = 0.99
"""Share of the cases that are to be answered with the best plan."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What came of `PIECE` cases.

    Parameters
    ----------
    first
        Number of the first one.
    worse
        The cases that are not answered with the best plan.
    faults
        A line for each false claim or broken rule.
    """

    strategy: str
    first: int
    proved: int
    worse: tuple[int, ...]
    faults: tuple[str, ...]


def run_benchmark(cases: int, strategy: str, results: Path, say: Say) -> str:
    """Judge the first ``cases``; write ``<results>/proofs.json``, return the table."""
    journal = Journal(results / NAME / f"pieces-{fingerprint()}.jsonl", Piece)
    known = {one.first for one in journal.records() if one.strategy == strategy}
    for first in range(0, cases, PIECE):
        if first not in known:
            piece = measure(first, strategy)
            journal.add(piece)
            say(f"cases {first} to {first + PIECE - 1}: {len(piece.worse)} worse")
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


def measure(first: int, strategy: str) -> Piece:
    """Return what comes of the cases from ``first`` on."""
    verdicts = {seed: judge(seed, strategy) for seed in range(first, first + PIECE)}
    return Piece(
        strategy=strategy,
        first=first,
        proved=sum(one.proved for one in verdicts.values()),
        worse=tuple(seed for seed, one in verdicts.items() if not one.best),
        faults=tuple(
            f"case {seed}: {fault}"
            for seed, one in verdicts.items()
            for fault in one.faults
        ),
    )


def figures(pieces: list[Piece]) -> list[Figure]:
    """Return the figures of all cases of ``pieces``."""
    cases = PIECE * len(pieces)
    faults = sum(len(one.faults) for one in pieces)
    best = 1 - sum(len(one.worse) for one in pieces) / cases
    proved = sum(one.proved for one in pieces) / cases
    return [
        Figure("false claims", faults, "claims", "0", faults == 0, cases),
        Figure("best plans", best, "share", f">= {BEST}", best >= BEST, cases),
        Figure("proved", proved, "share", runs=cases),
    ]
