"""The thesis's evaluation: what of it is to be rebuilt, who is better, and tables and figures beside its own counts.

Seed 002: Canova, "Scheduling Optimization in Kubernetes", section 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.instances.cell import Cell
from stowage_testbed.reproduce.instance.rebuilding import (
    Evaluation,
    GridRequest,
    Rebuilding,
    Shown,
    Solved,
    failures_figure,
    losses,
    losses_figure,
)
from stowage_testbed.reproduce.instance.rows import PENDING
from stowage_testbed.reproduce.sweep.folder import Header
from stowage_testbed.reproduce.thesis.instances import SEEDS_TRIED, ThesisCase, ThesisRow, find_instance, thesis_grid
from stowage_testbed.text.figure import Figure, figure, share_percent
from stowage_testbed.text.tables import Table

LIMITS_S = (1.0, 10.0)
SAMPLE = 50
"""Seeds a cell (section 4.4); with both limits, 6,400 runs of each solver."""

Z3_BETTER, OR_TOOLS_BETTER, SAME = 23, 3395, 2982
"""Equations 4.1 to 4.3; where pods are alike the faster solver counts as better."""

OR_TOOLS, Z3 = "cpsat-items", "z3"
WITH_SYMMETRY = {OR_TOOLS: "cpsat-items-symmetry", Z3: "z3-symmetry"}
"""The same with the printed rows for equal pods and nodes."""

STRATEGIES = (OR_TOOLS, Z3, *WITH_SYMMETRY.values(), "paper", DEFAULT_STRATEGY)


@dataclass(frozen=True, slots=True)
class ThesisRequest(GridRequest[ThesisCase]):
    """What of the thesis's evaluation is to be rebuilt, also with labels of nodes."""

    sample: int = SAMPLE
    strategies: tuple[str, ...] = STRATEGIES
    limits_s: tuple[float, ...] = LIMITS_S
    labelled: bool = True

    @staticmethod
    def grid() -> tuple[Cell, ...]:
        """Return the thesis's 64 cells."""
        return thesis_grid()

    def cases_of(self, cell: Cell, number: int) -> Sequence[ThesisCase]:
        """Return an instance's cases: without labels, and with them if wanted."""
        kinds = (False, True) if self.labelled else (False,)
        return [ThesisCase(cell, number, labelled) for labelled in kinds]

    def document(self) -> dict[str, Any]:
        """Return what was asked for, as JSON values."""
        return {**GridRequest.document(self), "labelled": self.labelled}


@dataclass(frozen=True, slots=True)
class ThesisSolved(Solved[ThesisRow]):
    """A result and its instance."""


class Outcome(StrEnum):
    """What became of an instance (section 4.4.4)."""

    OPTIMAL = "optimal"
    BETTER = "better"
    NOTHING = "no better"


def outcome(one: ThesisSolved) -> Outcome:
    """Return what became of an instance: better means that more pods have a node.

    An answer that is proved, and no better than the start, counts as nothing: the
    thesis's plugin would discard it.
    """
    start = one.instance.placed_by_priority(one.instance.start)
    if one.placed_by_priority <= start:
        return Outcome.NOTHING
    return Outcome.OPTIMAL if one.result.optimal else Outcome.BETTER


def published_worth(one: ThesisSolved) -> tuple[int, int, int]:
    """Return what the thesis compares before time: pods added, removed, moved."""
    added = sum(before == PENDING != after for before, after in zip(one.instance.start, one.result.plan, strict=True))
    return added, -one.result.evictions, -one.result.moves


class WinCounts(NamedTuple):
    """How often one solver is better than another: by pods added, removed, then moved.

    It is faster in so many of the cases in which both are the same.
    """

    better: int
    worse: int
    same: int
    faster: int


def win_counts(pairs: Iterable[tuple[ThesisSolved, ThesisSolved]]) -> WinCounts:
    """Return the counts of pairs, from the first one's side."""
    better = worse = same = faster = 0
    for one, other in pairs:
        mine, theirs = published_worth(one), published_worth(other)
        better += mine > theirs
        worse += mine < theirs
        if mine == theirs:
            same += 1
            faster += one.result.wall_s < other.result.wall_s
    return WinCounts(better, worse, same, faster)


ThesisEvaluation = Evaluation[ThesisSolved]
"""All results."""

SHARE_HEADERS = (
    "solver", "limit", "labels", "instances", "optimal", "better", "no better",
    "mean call", "longest",
)  # fmt: skip
DUEL_HEADERS = (
    "solver", "against", "limit", "instances", "better", "worse", "same",
    "same, faster", "worse tier by tier",
)  # fmt: skip


def share_table(evaluation: ThesisEvaluation) -> Table:
    """Return what became of the instances, by solver, limit and labels."""
    rows = []
    for limit_s, strategy, results in evaluation.groups():
        for labelled in (False, True):
            found = [one for one in results if one.instance.labelled is labelled]
            if found:
                counts = Counter(outcome(one) for one in found)
                calls = [one.result.wall_s for one in found]
                shares = (f"{100 * counts[one] / len(found):.1f} %" for one in Outcome)
                labels, instances = "yes" if labelled else "no", str(len(found))
                times = (f"{fmean(calls):.2f} s", f"{max(calls):.2f} s")
                rows.append((strategy, f"{limit_s:g} s", labels, instances, *shares, *times))
    return Table(
        title="What the solvers make of First Fit Decreasing's failures",
        headers=SHARE_HEADERS,
        rows=tuple(rows),
        notes=(
            "Better: more pods of a higher priority have a node than at the start; "
            "optimal: that is proved as well. The limit is that of the whole call, "
            "and of each of two solver calls a priority in the thesis.",
            "The printed rows for equal pods and nodes order both by index alone, and "
            "so cut off answers: with them, only an answer that leaves nobody out and "
            "disrupts no pod is called optimal.",
        ),
    )


def win_table(evaluation: ThesisEvaluation) -> Table:
    """Return how often one solver is better than another, the published first."""
    rows = [
        (
            "OR-Tools (published)", "Z3", "1 and 10 s",
            str(Z3_BETTER + OR_TOOLS_BETTER + SAME), str(OR_TOOLS_BETTER),
            str(Z3_BETTER), str(SAME), "", "",
        )
    ]  # fmt: skip
    for limit_s in evaluation.limits_s:
        for one, other in _duels(evaluation):
            pairs = evaluation.pairs(one, other, limit_s)
            if not pairs:
                continue
            found = win_counts(pairs)
            rows.append(
                (
                    one, other, f"{limit_s:g} s", str(len(pairs)), str(found.better),
                    str(found.worse), str(found.same), str(found.faster),
                    ", ".join(losses(pairs)) or "none",
                )
            )  # fmt: skip
    return Table(
        title="One solver against another, on the same instances and with one limit",
        headers=DUEL_HEADERS,
        rows=tuple(rows),
        notes=(
            "Compared by pods added, then removed, then moved, as published; there the "
            "faster one counts as better where these are the same, here that is a "
            "column of its own. Fewer pods added can be the better answer where "
            "priorities differ, so the last column compares as Algorithm 1 does.",
        ),
    )


def _duels(evaluation: ThesisEvaluation) -> list[tuple[str, str]]:
    wanted = [
        (OR_TOOLS, Z3),
        *((plain, symmetric) for plain, symmetric in WITH_SYMMETRY.items()),
        *((DEFAULT_STRATEGY, one) for one in evaluation.strategies),
    ]
    known = evaluation.strategies
    return [(one, other) for one, other in wanted if one in known and other in known and one != other]


def thesis_figures(evaluation: ThesisEvaluation) -> Iterator[Figure]:
    """Yield shares by solver, OR-Tools against Z3, and ours against all."""
    yield Figure("thesis: instances", evaluation.instances, "instances")
    yield failures_figure("thesis: tasks that could not be carried out", evaluation)
    for limit_s in evaluation.limits_s:
        for strategy in evaluation.strategies:
            yield from _shares(evaluation, strategy, limit_s)
        yield from _or_tools_against_z3(evaluation, limit_s)
        for strategy in evaluation.strategies:
            if strategy != DEFAULT_STRATEGY:
                name = f"thesis: ours at {limit_s:g} s: worse than {strategy}, tier by tier"
                yield losses_figure(name, evaluation.pairs(DEFAULT_STRATEGY, strategy, limit_s))


def _shares(evaluation: ThesisEvaluation, strategy: str, limit_s: float) -> Iterator[Figure]:
    found = evaluation.of(strategy, limit_s)
    name = f"thesis: {strategy} at {limit_s:g} s"
    for wanted in (Outcome.OPTIMAL, Outcome.BETTER):
        hits = [float(outcome(one) is wanted) for one in found]
        yield figure(f"{name}: {wanted}", "%", hits, share_percent, spread=False)
    yield figure(f"{name}: mean call", "s", [o.result.wall_s for o in found], fmean)


def _or_tools_against_z3(evaluation: ThesisEvaluation, limit_s: float) -> Iterator[Figure]:
    pairs = evaluation.pairs(OR_TOOLS, Z3, limit_s)
    found = win_counts(pairs)
    total = OR_TOOLS_BETTER + Z3_BETTER + SAME
    for word, count, published in (
        ("OR-Tools better", found.better, OR_TOOLS_BETTER),
        ("Z3 better", found.worse, Z3_BETTER),
        ("same", found.same, SAME),
    ):
        yield Figure(
            f"thesis: OR-Tools against Z3 at {limit_s:g} s: {word}",
            100 * count / len(pairs) if pairs else None, "%", runs=len(pairs),
            prototype=f"{100 * published / total:.1f} % (with time as a last word)",
        )  # fmt: skip


def show(_: Path, evaluation: ThesisEvaluation, __: Header) -> Shown:
    """Return what is shown of the results."""
    tables = [share_table(evaluation), win_table(evaluation)]
    return tables, list(thesis_figures(evaluation)), ""


THESIS = Rebuilding(
    kind="thesis",
    row_type=ThesisRow,
    request_of=ThesisRequest.of_document,
    tries=SEEDS_TRIED,
    attempt=find_instance,
    pair=ThesisSolved,
    show=show,
)
