"""The evaluations of papers: their scenes and grids, rules, tables and pages."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import a_result as a_comparison_result
from hpa_records import FULL, hpa_record
from paper_results import a_result, an_evaluation, an_instance
from run_records import a_record
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.hpa.settings import Find
from stowage_testbed.reproduce.boreas import NODE, BoreasRequest, DeploymentRow, choose_arms, choose_scenes, summarise
from stowage_testbed.reproduce.paper.evaluation import (
    Baseline,
    Category,
    category,
    gain_points,
    headline_sentences,
    headline_table,
    shares,
    table_1,
)
from stowage_testbed.reproduce.paper.live import LiveRow, live_table
from stowage_testbed.reproduce.paper.report import evaluation_figures, page
from stowage_testbed.reproduce.rebuilding import PENDING, Evaluation, Solved, TierRow, Where, losses
from stowage_testbed.reproduce.scorecache import BURST, RECOVERY, planned, recovery_table
from stowage_testbed.reproduce.sweep import Header
from stowage_testbed.reproduce.thesis import (
    GRID,
    Outcome,
    ThesisRow,
    ThesisSolved,
    outcome,
    share_table,
    thesis_figures,
    win_counts,
    win_table,
)
from stowage_testbed.scenario.instances import Case, Family


@pytest.mark.parametrize(
    ("priorities", "plan", "optimal", "expected"),
    [
        ((2, 1, 1), (0, 1, 2), True, Category.BETTER_OPTIMAL),
        ((2, 1, 1), (0, 1, 2), False, Category.BETTER),
        ((2, 1, 1), (0, 1, -1), True, Category.DEFAULT_OPTIMAL),
        ((2, 1, 1), (0, -1, 1), True, Category.DEFAULT_OPTIMAL),
        ((2, 1, 1), (0, 1, -1), False, Category.FAILURES),
        ((2, 1, 1), (0, -1, -1), False, Category.FAILURES),
        ((2, 1, 1), (0, -1, -1), True, Category.FAILURES),
        ((2, 1, 1), (-1, 1, 2), True, Category.FAILURES),
        # A pod of higher priority is worth any number below.
        ((1, 1, 3), (-1, -1, 0), False, Category.BETTER),
    ],
)
def test_a_result_falls_into_the_category_of_the_papers_text(
    priorities: tuple[int, ...], plan: Where, optimal: bool, expected: Category
) -> None:
    """No proof is no merit; where the default places all, nobody would ask."""
    instance = an_instance(priorities, start=(0, 1, -1), stock=(0, 1, 2))
    result = a_result(plan, optimal=optimal)

    one = Solved(instance, result)
    assert category(one, Baseline.DETERMINISTIC) is expected
    assert category(one, Baseline.STOCK) is Category.NO_CALLS
    known = shares([one], Baseline.DETERMINISTIC)
    assert known == {**dict.fromkeys(Category, 0), expected: 1}


def test_gains_are_points_of_the_whole_cluster() -> None:
    """Pods of 100, 200 and 300 on four nodes of 1000: the third is worth 7.5 points."""
    instance = an_instance((1, 1, 1), start=(0, 1, -1), stock=(0, -1, -1))
    one = Solved(instance, a_result((0, 1, 2)))

    assert [
        gain_points(one, Baseline.DETERMINISTIC, "cpu"),
        gain_points(one, Baseline.STOCK, "cpu"),
        gain_points(one, Baseline.DETERMINISTIC, "memory"),
    ] == pytest.approx([7.5, 12.5, 2.5])


INSTANCE = an_instance((2, 1, 1))
BETTER = Solved(INSTANCE, a_result((0, 1, 2)))
EQUAL = Solved(replace(INSTANCE, case="other"), a_result((0, 1, -1), case="other", optimal=False))
LIVE = LiveRow(
    "case", "paper", 1.0, "", 0.01, 2.0, 3.0, planned=(1, 2), executed=(1, 2), moves=1,
    evictions=0,
)  # fmt: skip


def test_the_headline_has_our_numbers_in_place_of_theirs() -> None:
    """One of two is better, none proved; nothing is published of our own baseline."""
    evaluation = an_evaluation(BETTER, EQUAL)
    (sentence,) = headline_sentences(evaluation)
    published, ours = headline_table(evaluation, Baseline.STOCK).rows
    alone = headline_table(an_evaluation(BETTER), Baseline.DETERMINISTIC)

    for said in ("in 50 % of 2", "optimal in 0 %", "published: over 44 % and 19 %"):
        assert said in sentence
    assert published[:4] == ("published", "1 s", "9600", "> 44 %")
    assert (*ours[:4], ours[7]) == ("paper", "1 s", "2", "50.0 %", "50.0 %")
    assert [row[0] for row in alone.rows] == ["paper"]


def test_table_1_holds_ours_under_the_published_numbers() -> None:
    """Means of the instances with four priorities, in the column of their size."""
    instance = an_instance((4, 1, 1), case="x", levels=4)
    one = Solved(instance, a_result((0, 1, 2), case="x", wall_s=0.25))
    rows = table_1(an_evaluation(one, strategies=("paper",))).rows

    place = rows.index(next(row for row in rows if row[0] == "95 %"))
    assert rows[place][1:4] == ("duration (s)", "published", "0.9")
    assert rows[place + 1][2:4] == ("paper", "0.25")
    assert rows[place + 3][2:4] == ("paper", "7.5")


def test_a_difference_on_the_cluster_is_shown() -> None:
    """The whole point of running some of them there."""
    table = live_table((LIVE, replace(LIVE, difference="rs-01: node-0, no node")))

    assert [row[1] for row in table.rows] == ["equal", "rs-01: node-0, no node"]
    assert "1 of 2 are placed as the simulation says" in table.notes[0]
    assert "200 times as long" in table.notes[0]
    assert "500 times" in table.notes[0]


def test_figures_show_what_ours_does_worse() -> None:
    """It is the promise of the project, and must not be left out when it is broken."""
    tier = TierRow(1, 2, 3, 3, True, 0, 0)
    theirs = Solved(INSTANCE, a_result((0, 1, 2), tiers=(tier,)))
    tiers = (replace(tier, placed=2),)
    ours = Solved(INSTANCE, a_result((0, 1, -1), strategy="lexicographic", tiers=tiers))

    found = evaluation_figures(an_evaluation(theirs, ours), [LIVE])
    figures = {one.name: one for one in found}

    worse = figures["ours at 1 s: worse than the paper's strategy"]
    assert (worse.value, worse.met, worse.note) == (1.0, False, INSTANCE.case)
    assert figures["ours at 1 s: better than the paper's strategy"].value == 0
    assert figures["live: full cluster run over simulation"].met
    assert figures["paper at 1 s against stock: better"].value == 100


def test_the_page_stands_alone() -> None:
    """It is opened from a disk, or from the artefacts of a CI run."""
    evaluation = replace(
        an_evaluation(BETTER, EQUAL), missing={"n4-p4-k1-u90": 2}, failures={"some task": "died of <thirst>"}
    )

    html = page(evaluation, (LIVE,), Header("paper", {"recipe": "1"}, {}, ("a machine",)))

    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html
    assert html.count("data:image/svg+xml;base64,") == 6
    for said in ("died of &lt;thirst&gt;", "n4-p4-k1-u90 (2)", "a machine"):
        assert said in html


THESIS = ThesisRow(
    case="thesis-n2-p2-k2-u100-0", nodes=2, pods_per_node=2, priorities=2,
    usage_percent=100, labelled=False, number=0, seed=1, seeds_tried=1,
    pod_priority=(2, 2, 2, 1), start=(0, 1, PENDING, PENDING),
)  # fmt: skip
HIGH, LOW, BOTH = (0, 1, 1, PENDING), (0, 1, PENDING, 1), (0, 1, 1, 0)


def solved(
    plan: Where, *, optimal: bool = False, moves: int = 0, wall_s: float = 1.0, strategy: str = "z3"
) -> ThesisSolved:
    """Return a result for the instance above."""
    high = sum(node != PENDING for node in plan[:3])
    both = high + (plan[3] != PENDING)
    row = a_result(
        plan,
        optimal=optimal,
        strategy=strategy,
        case=THESIS.case,
        tiers=tuple(
            TierRow(priority, 2, placed, placed, optimal, moves, 0) for priority, placed in ((2, high), (1, both))
        ),
        wall_s=wall_s,
    )
    return Solved(THESIS, replace(row, moves=moves))


def test_better_is_more_pods_of_a_higher_priority_then_fewer_moved() -> None:
    """Section 4.4.4; no pod of low priority outweighs one of high, and time is last."""
    better, fewer, low = solved(BOTH), solved(HIGH), solved(LOW)
    moving, quick = solved(BOTH, moves=1), solved(BOTH, wall_s=0.1)

    found = win_counts([(better, fewer), (fewer, better), (better, moving), (quick, better)])

    assert outcome(solved(HIGH, optimal=True)) is Outcome.OPTIMAL
    assert outcome(low) is Outcome.BETTER
    for nothing in (THESIS.start, (0, PENDING, PENDING, 1)):
        assert outcome(solved(nothing, optimal=True)) is Outcome.NOTHING
    assert found == (2, 1, 1, 1)
    assert losses([(fewer, low)]) == []
    assert losses([(low, fewer)]) == [THESIS.case]


def test_what_is_in_the_tables_of_the_thesis_is_in_the_figures() -> None:
    """By the names under which others look for them."""
    results = (
        solved(BOTH, strategy="cpsat-items", optimal=True),
        solved(HIGH, strategy="z3"),
        solved(BOTH, strategy="lexicographic", optimal=True),
    )
    names = tuple(one.result.strategy for one in results)
    evaluation = Evaluation(results, names, (1.0,), Counter(), {})

    (published, *duels) = win_table(evaluation).rows
    figures = {one.name: one for one in thesis_figures(evaluation)}

    assert [row[4] for row in share_table(evaluation).rows] == [
        "100.0 %", "0.0 %", "100.0 %",
    ]  # fmt: skip
    assert published[3:7] == ("6400", "3395", "23", "2982")
    assert duels[0][:7] == ("cpsat-items", "z3", "1 s", "1", "1", "0", "0")
    assert figures["thesis: OR-Tools against Z3 at 1 s: OR-Tools better"].value == 100
    assert figures["thesis: ours at 1 s: worse than z3, tier by tier"].value == 0


def test_the_grid_is_the_thesis_s_and_labels_are_asked_for_and_avoided() -> None:
    """64 cells of 50 instances with two limits; section 4.1.1 has both in it."""
    case = Case(Family.LABELS, GRID[-1], 0)
    plain = replace(case, family=Family.THESIS)
    labelled = case.scenario(0).workload

    assert len(GRID) * 50 * 2 == 6400
    for operator in ("In", "NotIn"):
        assert f"'operator': '{operator}'" in str([one.pod for one in labelled])
    assert case.id != plain.id
    assert case.seed(0) == plain.seed(0)
    assert [one.replicas for one in labelled] == [one.replicas for one in plain.scenario(0).workload]


def test_the_scenes_of_boreas_ask_for_what_the_paper_says() -> None:
    """Section 4: all CPU of two nodes, 83 % of four, and 22 and 33 pods.

    The journal would take two runs of one name for one.
    """
    by_name = {one.name: one for one in choose_scenes()}
    request = BoreasRequest(choose_scenes(), choose_arms(), repeat=3, others=2)

    def share(name: str) -> float:
        scene = by_name[name]
        asked = sum(one.replicas * one.requests["cpu"] for one in scene.workload)
        return asked / (scene.nodes * NODE["cpu"])

    assert share("minimal") == 1.0
    assert round(100 * share("affinity")) == 83
    assert [by_name[f"affinity-{nodes}"].pods for nodes in (8, 12)] == [22, 33]
    assert {one.pods for one in choose_scenes()[4:]} == {11}
    assert len(request.runs()) == 3 * (2 * 3 + 7 * 2)


def test_what_is_left_of_a_run_of_boreas_is_counted_by_scene_and_arm() -> None:
    """A pod without a node makes a deployment a failure, whatever else runs."""
    request = BoreasRequest(choose_scenes(["minimal"]), choose_arms(), repeat=2)
    whole = DeploymentRow(
        scene="minimal", arm="default", number=1, pods=5,
        where=("backend/minimal-0",) * 3 + ("proxy/minimal-1",) * 2,
        took_s=0.5, solves=0, solve_s=0.0, moves=0,
    )  # fmt: skip
    partly = replace(whole, number=2, where=whole.where[:4], took_s=0.0)

    table, figures = summarise(request, (whole, partly))

    by_name = {one.name: one for one in figures}
    stock = by_name["boreas minimal, default: deployed whole"]
    assert table.rows[0][3:7] == ("default", "1 of 2", "0 %", "2")
    assert (stock.value, stock.prototype) == (50, "0 %")
    assert by_name["boreas minimal, stowage: deployed whole"].value is None


def test_a_name_that_there_is_not_is_refused_before_a_cluster_is_started(tmp_path: Path) -> None:
    """The message names it."""
    for option, word in (("--scenes", "huge"), ("--arms", "k8s")):
        command = ["reproduce", "boreas", option, word, "--results", f"{tmp_path}/r"]
        assert word in str(CliRunner().invoke(app, command).exception)
        assert not (tmp_path / "r").exists()


def test_each_recovery_of_the_paper_stands_below_ours() -> None:
    """The same columns, and the same ratio to the stock scheduler."""
    # FIND ends before the autoscaler has moved, so that there is something to recover.
    recovery = hpa_record(replace(FULL, find=Find(level_s=5.0)))
    records = [replace(a_record(recovery=recovery), arm=arm) for arm in ("default", "stowage-score-cache", "stowage")]

    rows = recovery_table(a_comparison_result(records)).rows

    assert [row[0] for row in rows] == [
        "default (own limits)", "  paper: Default",
        "stowage-score-cache (own limits)", "  paper: Cache-scheduler",
        "stowage (own limits)",
    ]  # fmt: skip
    assert rows[3][2:] == ("115", "x0.33", "1.872", "1.178", "0.430", "105")
    assert rows[2][1:4] == ("1", "60", "x1.00")
    assert [one.name for one in planned(full=False)] == [BURST, RECOVERY]


@pytest.mark.parametrize("paper", ["paper", "thesis"])
def test_without_the_strategies_to_compare_with_nothing_is_begun(
    paper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of thousands of instances would fail by itself, for one reason."""
    monkeypatch.setitem(sys.modules, "stowage_strategies", None)
    said = CliRunner().invoke(app, ["reproduce", paper, "--results", str(tmp_path / "results")])

    assert "pip install 'stowage[strategies]'" in str(said.exception)
    assert not (tmp_path / "results").exists()
