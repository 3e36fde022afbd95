"""Tables and figures of the thesis's evaluation, beside its own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.reproduce.instance.evaluation import Evaluation
from stowage_testbed.reproduce.instance.rebuilding import Shown
from stowage_testbed.reproduce.sweep.folder import Header
from stowage_testbed.reproduce.thesis.comparing import Outcome, ThesisSolved, losses, outcome, win_counts
from stowage_testbed.reproduce.thesis.published import OR_TOOLS_BETTER, SAME, Z3_BETTER
from stowage_testbed.text.figure import Figure, at_most, figure, share_percent
from stowage_testbed.text.table import Table

OR_TOOLS, Z3 = "cpsat-items", "z3"
WITH_SYMMETRY = {OR_TOOLS: "cpsat-items-symmetry", Z3: "z3-symmetry"}
"""The same with the printed rows for equal pods and nodes."""

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
    for limit_s in evaluation.limits_s:
        for strategy in evaluation.strategies:
            for labelled in (False, True):
                found = [one for one in evaluation.of(strategy, limit_s) if one.instance.labelled is labelled]
                if not found:
                    continue
                counts = Counter(outcome(one) for one in found)
                calls = [one.result.wall_s for one in found]
                rows.append(
                    (
                        strategy,
                        f"{limit_s:g} s",
                        "yes" if labelled else "no",
                        str(len(found)),
                        *(f"{100 * counts[o] / len(found):.1f} %" for o in Outcome),
                        f"{fmean(calls):.2f} s",
                        f"{max(calls):.2f} s",
                    )
                )
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
            pairs = list(evaluation.pairs(one, other, limit_s))
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


def _shares(evaluation: ThesisEvaluation, strategy: str, limit_s: float) -> Iterator[Figure]:
    found = evaluation.of(strategy, limit_s)
    name = f"thesis: {strategy} at {limit_s:g} s"
    for wanted in (Outcome.OPTIMAL, Outcome.BETTER):
        hits = [float(outcome(one) is wanted) for one in found]
        yield figure(f"{name}: {wanted}", "%", hits, share_percent, spread=False)
    yield figure(f"{name}: mean call", "s", [o.result.wall_s for o in found], fmean)


def _or_tools_against_z3(evaluation: ThesisEvaluation, limit_s: float) -> Iterator[Figure]:
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


def show(_: Path, evaluation: ThesisEvaluation, __: Header) -> Shown:
    """Return what is shown of the results."""
    tables = [share_table(evaluation), win_table(evaluation)]
    return tables, list(thesis_figures(evaluation)), ""
