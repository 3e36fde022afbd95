"""The thesis's evaluation as figures with targets."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.reproduce.thesis.comparing import (
    Outcome,
    losses,
    outcome,
    win_counts,
)
from stowage_testbed.reproduce.thesis.evaluation import ThesisEvaluation
from stowage_testbed.reproduce.thesis.published import OR_TOOLS_BETTER, SAME, Z3_BETTER
from stowage_testbed.reproduce.thesis.request import OR_TOOLS, Z3
from stowage_testbed.text.figure import Figure, at_most, figure, share_percent


def thesis_figures(evaluation: ThesisEvaluation) -> Iterator[Figure]:
    """Yield shares by solver, OR-Tools against Z3, and ours against all."""
    yield Figure("thesis: instances", evaluation.instances, "instances")
    failed = len(evaluation.failures)
    yield Figure(
        "thesis: tasks that could not be carried out", failed, "tasks", "<= 0",
        not failed,
    )  # fmt: skip
    for limit_s in evaluation.limits_s:
        for strategy in evaluation.strategies:
            yield from _shares(evaluation, strategy, limit_s)
        yield from _or_tools_against_z3(evaluation, limit_s)
        for strategy in evaluation.strategies:
            if strategy != DEFAULT_STRATEGY:
                yield _losses(evaluation, strategy, limit_s)


def _shares(
    evaluation: ThesisEvaluation, strategy: str, limit_s: float
) -> Iterator[Figure]:
    found = evaluation.of(strategy, limit_s)
    name = f"thesis: {strategy} at {limit_s:g} s"
    for wanted in (Outcome.OPTIMAL, Outcome.BETTER):
        hits = [float(outcome(one) is wanted) for one in found]
        yield figure(f"{name}: {wanted}", "%", hits, share_percent, spread=False)
    yield figure(f"{name}: mean call", "s", [o.result.wall_s for o in found], fmean)


def _or_tools_against_z3(
    evaluation: ThesisEvaluation, limit_s: float
) -> Iterator[Figure]:
    pairs = list(evaluation.pairs(OR_TOOLS, Z3, limit_s))
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


def _losses(evaluation: ThesisEvaluation, strategy: str, limit_s: float) -> Figure:
    pairs = list(evaluation.pairs(DEFAULT_STRATEGY, strategy, limit_s))
    lost = losses(pairs)
    return figure(
        f"thesis: ours at {limit_s:g} s: worse than {strategy}, tier by tier",
        "instances", [float(one.instance.case in lost) for one, _ in pairs], sum,
        at_most(0), spread=False, note=", ".join(lost[:5]),
    )  # fmt: skip
