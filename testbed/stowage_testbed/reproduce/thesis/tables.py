"""The thesis's comparison of solvers, beside its own counts."""

from __future__ import annotations

from collections import Counter
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
from stowage_testbed.reproduce.thesis.request import OR_TOOLS, WITH_SYMMETRY, Z3
from stowage_testbed.text.table import Table

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
                found = [
                    one
                    for one in evaluation.of(strategy, limit_s)
                    if one.instance.labelled is labelled
                ]
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
    return [
        (one, other)
        for one, other in wanted
        if one in known and other in known and one != other
    ]
