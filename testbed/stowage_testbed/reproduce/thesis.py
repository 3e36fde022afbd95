"""The thesis's grid and instances, on which First Fit Decreasing fails, and its evaluation beside its own counts.

Seed 002: Canova, "Scheduling Optimization in Kubernetes", section 4.4.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product, starmap
from statistics import fmean

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.reproduce.rebuilding import (
    PENDING,
    Evaluation,
    Instance,
    Rebuilding,
    Solved,
    carried_out,
    facts_of,
    failures_figure,
    losses,
    losses_figure,
    node_names,
    pod_names,
    snapshot_of,
)
from stowage_testbed.reproduce.sweep import Tools
from stowage_testbed.scenario.instances import Case, Cell, Family
from stowage_testbed.text.figure import Figure, figure, share_percent
from stowage_testbed.text.tables import Table

GRID = tuple(starmap(Cell, product((4, 8, 16, 32), (4, 8), (2, 5), (80, 90, 100, 110))))
"""The thesis's 64 cells: bins, pods a bin, priorities, and percent of the room that is asked for."""


@dataclass(frozen=True, slots=True)
class ThesisRow(Instance):
    """An instance on which First Fit Decreasing leaves pods out."""

    labelled: bool


HEURISTIC = "first-fit-decreasing"
SEEDS_TRIED = 1000
"""Until a cell is said to have no such instance of this number."""


def find_instance(case: Case, attempt: int, tools: Tools) -> ThesisRow | None:
    """Return the instance of a try, if the heuristic leaves a pod of it pending on an empty cluster."""
    scenario = case.scenario(attempt)
    names = pod_names(scenario)
    request = pb.SolveRequest(
        snapshot=snapshot_of(scenario, dict.fromkeys(names)),
        options=pb.SolveOptions(strategy=HEURISTIC, time_limit_s=1.0, policy=pb.POLICY_PAPER),
    )
    plan = tools.service.last_answer(request).plan
    start = carried_out((PENDING,) * len(names), plan, names, node_names(scenario))
    if PENDING not in start:
        return None
    return ThesisRow(**facts_of(case, scenario, attempt, start), labelled=case.family is Family.LABELS)


Z3_BETTER, OR_TOOLS_BETTER, SAME = 23, 3395, 2982
"""Equations 4.1 to 4.3; where pods are alike the faster solver counts as better."""

OR_TOOLS, Z3 = "cpsat-items", "z3"
WITH_SYMMETRY = {OR_TOOLS: "cpsat-items-symmetry", Z3: "z3-symmetry"}
"""The same with the printed rows for equal pods and nodes."""

STRATEGIES = (OR_TOOLS, Z3, *WITH_SYMMETRY.values(), "paper", DEFAULT_STRATEGY)


ThesisSolved = Solved[ThesisRow]
ThesisEvaluation = Evaluation[ThesisRow]


class Outcome(StrEnum):
    """What became of an instance (section 4.4.4)."""

    OPTIMAL = "optimal"
    BETTER = "better"
    NOTHING = "no better"


def outcome(one: ThesisSolved) -> Outcome:
    """Return what became of an instance; proved but no better than the start counts as nothing, as in the thesis."""
    start = one.instance.placed_by_priority(one.instance.start)
    if one.placed_by_priority <= start:
        return Outcome.NOTHING
    return Outcome.OPTIMAL if one.result.optimal else Outcome.BETTER


def published_worth(one: ThesisSolved) -> tuple[int, int, int]:
    """Return what the thesis compares before time: pods added, removed, moved."""
    added = sum(before == PENDING != after for before, after in zip(one.instance.start, one.result.plan, strict=True))
    return added, -one.result.evictions, -one.result.moves


def win_counts(pairs: Iterable[tuple[ThesisSolved, ThesisSolved]]) -> tuple[int, int, int, int]:
    """Return how often the first of a pair is better, worse, and the same, and faster where both are the same.

    Pods added decide, then those removed, then those moved.
    """
    better = worse = same = faster = 0
    for one, other in pairs:
        mine, theirs = published_worth(one), published_worth(other)
        better += mine > theirs
        worse += mine < theirs
        same += mine == theirs
        faster += mine == theirs and one.result.wall_s < other.result.wall_s
    return better, worse, same, faster


SHARE_HEADERS = ("solver", "limit", "labels", "instances", "optimal", "better", "no better", "mean call", "longest")
DUEL_HEADERS = (
    "solver", "against", "limit", "instances", "better", "worse", "same", "same, faster", "worse tier by tier",
)  # fmt: skip


def share_table(evaluation: ThesisEvaluation) -> Table:
    """Return what became of the instances, by solver, limit and labels."""
    rows = []
    for (limit_s, strategy, results), labelled in product(evaluation.groups(), (False, True)):
        if found := [one for one in results if one.instance.labelled is labelled]:
            counts, calls = Counter(map(outcome, found)), [one.result.wall_s for one in found]
            shares = (f"{100 * counts[one] / len(found):.1f} %" for one in Outcome)
            times = (f"{fmean(calls):.2f} s", f"{max(calls):.2f} s")
            rows.append((strategy, f"{limit_s:g} s", "yes" if labelled else "no", str(len(found)), *shares, *times))
    return Table(
        title="What the solvers make of First Fit Decreasing's failures",
        headers=SHARE_HEADERS,
        rows=tuple(rows),
        notes=(
            "Better: more pods of a higher priority have a node than at the start; optimal: that is proved as well. "
            "The limit is that of the whole call, and of each of two solver calls a priority in the thesis.",
            "The printed rows for equal pods and nodes order both by index alone, and so cut off answers: with them, "
            "only an answer that leaves nobody out and disrupts no pod is called optimal.",
        ),
    )


def win_table(evaluation: ThesisEvaluation) -> Table:
    """Return how often one solver is better than another, the published first."""
    total = str(Z3_BETTER + OR_TOOLS_BETTER + SAME)
    counts = (str(OR_TOOLS_BETTER), str(Z3_BETTER), str(SAME))
    rows: list[tuple[str, ...]] = [("OR-Tools (published)", "Z3", "1 and 10 s", total, *counts, "", "")]
    known = evaluation.strategies
    duels = [(OR_TOOLS, Z3), *WITH_SYMMETRY.items(), *((DEFAULT_STRATEGY, one) for one in known)]
    for limit_s, (one, other) in product(evaluation.limits_s, duels):
        pairs = evaluation.pairs(one, other, limit_s)
        if one in known and other in known and one != other and pairs:
            worse = ", ".join(losses(pairs)) or "none"
            rows.append((one, other, f"{limit_s:g} s", str(len(pairs)), *map(str, win_counts(pairs)), worse))
    return Table(
        title="One solver against another, on the same instances and with one limit",
        headers=DUEL_HEADERS,
        rows=tuple(rows),
        notes=(
            "Compared by pods added, then removed, then moved, as published; there the faster one counts as better "
            "where these are the same, here that is a column of its own. Fewer pods added can be the better answer "
            "where priorities differ, so the last column compares as Algorithm 1 does.",
        ),
    )


def thesis_figures(evaluation: ThesisEvaluation) -> Iterator[Figure]:
    """Yield shares by solver, OR-Tools against Z3, and ours against all."""
    yield Figure("thesis: instances", evaluation.instances, "instances")
    yield failures_figure("thesis: tasks that could not be carried out", evaluation)
    total = OR_TOOLS_BETTER + Z3_BETTER + SAME
    for limit_s in evaluation.limits_s:
        for strategy in evaluation.strategies:
            found = evaluation.of(strategy, limit_s)
            name = f"thesis: {strategy} at {limit_s:g} s"
            for wanted in (Outcome.OPTIMAL, Outcome.BETTER):
                hits = [float(outcome(one) is wanted) for one in found]
                yield figure(f"{name}: {wanted}", "%", hits, share_percent, spread=False)
            yield figure(f"{name}: mean call", "s", [one.result.wall_s for one in found], fmean)
        pairs = evaluation.pairs(OR_TOOLS, Z3, limit_s)
        published = {"OR-Tools better": OR_TOOLS_BETTER, "Z3 better": Z3_BETTER, "same": SAME}
        for (word, theirs), count in zip(published.items(), win_counts(pairs)[:3], strict=True):
            name = f"thesis: OR-Tools against Z3 at {limit_s:g} s: {word}"
            share = 100 * count / len(pairs) if pairs else None
            prototype = f"{100 * theirs / total:.1f} % (with time as a last word)"
            yield Figure(name, share, "%", runs=len(pairs), prototype=prototype)
        for strategy in evaluation.strategies:
            if strategy != DEFAULT_STRATEGY:
                name = f"thesis: ours at {limit_s:g} s: worse than {strategy}, tier by tier"
                yield losses_figure(name, evaluation.pairs(DEFAULT_STRATEGY, strategy, limit_s))


THESIS = Rebuilding(
    kind="thesis",
    row_type=ThesisRow,
    grid=GRID,
    families=(Family.THESIS, Family.LABELS),
    strategies=STRATEGIES,
    tries=SEEDS_TRIED,
    attempt=find_instance,
    show=lambda _, found, __: ([share_table(found), win_table(found)], list(thesis_figures(found)), ""),
)
