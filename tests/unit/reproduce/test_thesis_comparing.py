"""How the thesis's evaluation tells a better result from a worse one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from stowage_testbed.reproduce.instance.evaluation import Evaluation
from stowage_testbed.reproduce.instance.rows import PENDING, ResultRow, TierRow, Where
from stowage_testbed.reproduce.thesis.comparing import (
    Outcome,
    ThesisSolved,
    losses,
    outcome,
    win_counts,
)
from stowage_testbed.reproduce.thesis.instances import (
    ThesisCase,
    ThesisRow,
    thesis_grid,
)
from stowage_testbed.reproduce.thesis.report import (
    share_table,
    thesis_figures,
    win_table,
)

START = (0, 1, PENDING, PENDING)
INSTANCE = ThesisRow(
    case="thesis-n2-p2-k2-u100-0", nodes=2, pods_per_node=2, priorities=2,
    usage_percent=100, labelled=False, number=0, seed=1, seeds_tried=1,
    pod_priority=(2, 2, 2, 1), start=START,
)  # fmt: skip


def solved(
    plan: Where,
    *,
    optimal: bool = False,
    moves: int = 0,
    evictions: int = 0,
    wall_s: float = 1.0,
    strategy: str = "z3",
) -> ThesisSolved:
    high = sum(node != PENDING for node in plan[:3])
    both = high + (plan[3] != PENDING)
    gone = moves + 3 * evictions
    tiers = tuple(
        TierRow(priority, 2, placed, placed, optimal, gone, 0)
        for priority, placed in ((2, high), (1, both))
    )
    return ThesisSolved(
        INSTANCE,
        ResultRow(
            INSTANCE.case, strategy, 1.0, 2, "TIME_LIMIT", "", optimal, plan,
            moves, evictions, tiers, wall_s, wall_s,
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "what"),
    [
        (solved((0, 1, 1, PENDING), optimal=True), Outcome.OPTIMAL),
        (solved((0, 1, PENDING, 1)), Outcome.BETTER),
        (solved(START, optimal=True), Outcome.NOTHING),
        (solved((0, PENDING, PENDING, 1)), Outcome.NOTHING),
    ],
)
def test_better_is_more_pods_of_a_higher_priority(
    one: ThesisSolved, what: Outcome
) -> None:
    """A pod of low priority does not make up for one of high."""
    assert outcome(one) is what


def test_a_duel_counts_added_then_removed_then_moved_pods() -> None:
    """Section 4.4.4; time decides only among equals."""
    better = solved((0, 1, 1, 0))
    fewer = solved((0, 1, 1, PENDING))
    moving = solved((0, 1, 1, 0), moves=1)
    quick = solved((0, 1, 1, 0), wall_s=0.1)

    found = win_counts(
        [(better, fewer), (fewer, better), (better, moving), (quick, better)]
    )

    assert (found.better, found.worse, found.same, found.faster) == (2, 1, 1, 1)


def test_a_loss_is_one_tier_by_tier() -> None:
    """More pods of low priority are no gain where one of high is left out."""
    high = solved((0, 1, 1, PENDING))
    low = solved((0, 1, PENDING, 1))

    assert losses([(high, low)]) == []
    assert losses([(low, high)]) == [INSTANCE.case]


def test_what_is_in_the_tables_is_in_the_figures() -> None:
    """By the names under which others look for them."""
    results = (
        solved((0, 1, 1, 0), strategy="cpsat-items", optimal=True),
        solved((0, 1, 1, PENDING), strategy="z3"),
        solved((0, 1, 1, 0), strategy="lexicographic", optimal=True),
    )
    names = tuple(one.result.strategy for one in results)
    evaluation = Evaluation(results, names, (1.0,), Counter(), {})

    shares = share_table(evaluation).rows
    (published, *duels) = win_table(evaluation).rows
    figures = {one.name: one for one in thesis_figures(evaluation)}

    assert [row[4] for row in shares] == ["100.0 %", "0.0 %", "100.0 %"]
    assert published[3:7] == ("6400", "3395", "23", "2982")
    assert duels[0][:7] == ("cpsat-items", "z3", "1 s", "1", "1", "0", "0")
    assert figures["thesis: OR-Tools against Z3 at 1 s: OR-Tools better"].value == 100
    assert figures["thesis: ours at 1 s: worse than z3, tier by tier"].value == 0


def test_labels_are_asked_for_by_some_pods_and_avoided_by_others() -> None:
    """Section 4.1.1 has both in its program."""
    case = ThesisCase(thesis_grid()[-1], 0, labelled=True)
    plain = replace(case, labelled=False)

    scenario = case.scenario(0)

    specs: list[Any] = [one.pod for one in scenario.workload if one.pod]
    demands = Counter(
        spec["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"][0]["matchExpressions"][0]["operator"]
        for spec in specs
    )
    assert demands["In"] > 0
    assert demands["NotIn"] > 0
    assert case.id != plain.id
    assert case.seed(0) == plain.seed(0)
    assert [one.replicas for one in scenario.workload] == [
        one.replicas for one in plain.scenario(0).workload
    ]


def test_the_grid_is_the_thesis_s() -> None:
    """64 cells of 50 instances with two limits are its 6,400 runs."""
    assert len(thesis_grid()) * 50 * 2 == 6400
