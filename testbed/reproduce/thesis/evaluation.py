"""Rebuilding the thesis's evaluation, and reading what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.reproduce.instance.rebuilding import Rebuilding
from testbed.reproduce.instance.rows import ResultRow
from testbed.reproduce.sweep.engine import Engine
from testbed.reproduce.sweep.listener import SweepListener
from testbed.reproduce.thesis.request import ThesisRequest
from testbed.reproduce.thesis.rows import ThesisRow
from testbed.reproduce.thesis.selecting import SelectTask
from testbed.reproduce.thesis.solving import SolveTask

THESIS = Rebuilding(
    "thesis", ThesisRow, ThesisRequest.of_document, SelectTask, SolveTask
)


@dataclass(frozen=True, slots=True)
class Solved:
    """A result and its instance."""

    instance: ThesisRow
    result: ResultRow


@dataclass(frozen=True, slots=True)
class ThesisEvaluation:
    """All results.

    Attributes
    ----------
    strategies, limits_s
        In the order in which they are shown.
    missing
        How many cases of a cell have no instance on which the heuristic fails.
    failures
        Why, of each task that could not be carried out.
    """

    solved: tuple[Solved, ...]
    strategies: tuple[str, ...]
    limits_s: tuple[float, ...]
    missing: Mapping[str, int]
    failures: Mapping[str, str]

    @property
    def instances(self) -> int:
        """Return how many instances were solved."""
        return len({one.instance.case for one in self.solved})

    def of(
        self, strategy: str, limit_s: float, *, labelled: bool | None = None
    ) -> tuple[Solved, ...]:
        """Return a strategy's results with a limit; with labels, without, or all."""
        return tuple(
            one
            for one in self.solved
            if (one.result.strategy, one.result.limit_s) == (strategy, limit_s)
            and labelled in (None, one.instance.labelled)
        )

    def pairs(
        self, one: str, other: str, limit_s: float, *, labelled: bool | None = None
    ) -> Iterator[tuple[Solved, Solved]]:
        """Yield what two strategies made of each instance that both solved."""
        others = {s.instance.case: s for s in self.of(other, limit_s)}
        for solved in self.of(one, limit_s, labelled=labelled):
            if solved.instance.case in others:
                yield solved, others[solved.instance.case]


def reproduce(
    request: ThesisRequest, path: Path, engine: Engine, listener: SweepListener
) -> ThesisEvaluation:
    """Do what is left to do, write the Parquet files, and return all results.

    Raises
    ------
    FolderBusyError, OtherSweepError
        The folder cannot be used.
    """
    return read_evaluation(path, THESIS.carry_out(request, path, engine, listener))


def read_evaluation(
    path: Path, failures: Mapping[str, str] | None = None
) -> ThesisEvaluation:
    """Return what the folder's Parquet files hold.

    Raises
    ------
    NoSweepError
        It has none.
    """
    rebuilt = THESIS.read(path)
    return ThesisEvaluation(
        solved=tuple(Solved(instance, result) for instance, result in rebuilt.results),
        strategies=rebuilt.request.strategies,
        limits_s=rebuilt.request.limits_s,
        missing=Counter(rebuilt.missing),
        failures=dict(failures or {}),
    )
