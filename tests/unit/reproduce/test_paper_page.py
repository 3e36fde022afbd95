"""The page and the tables say what the rows say."""

from __future__ import annotations

from dataclasses import replace

from paper_results import a_result, an_evaluation, an_instance

from stowage_testbed.reproduce.instance.rows import TierRow
from stowage_testbed.reproduce.paper.categories import Baseline, Categorised
from stowage_testbed.reproduce.paper.figures import evaluation_figures
from stowage_testbed.reproduce.paper.live import LiveRow
from stowage_testbed.reproduce.paper.page.page import page
from stowage_testbed.reproduce.paper.tables import (
    headline_sentences,
    headline_table,
    live_table,
    table_1,
)
from stowage_testbed.reproduce.sweep.folder import Header

INSTANCE = an_instance((2, 1, 1))
BETTER = Categorised(INSTANCE, a_result((0, 1, 2)))
EQUAL = Categorised(
    replace(INSTANCE, case="other"), a_result((0, 1, -1), case="other", optimal=False)
)
LIVE = LiveRow(
    "case", "paper", 1.0, "", 0.01, 2.0, 3.0, planned=(1, 2), executed=(1, 2), moves=1,
    evictions=0,
)  # fmt: skip
HEADER = Header("paper", {"recipe": "1"}, {}, ("1/1",), ("a machine",))


def test_the_headline_has_our_numbers_in_place_of_theirs() -> None:
    """One of two instances is better, none is proved to be at its best."""
    evaluation = an_evaluation(BETTER, EQUAL)
    (sentence,) = headline_sentences(evaluation)
    assert "in 50 % of 2 instances" in sentence
    assert "optimal in 0 %" in sentence
    assert "published: over 44 % and 19 %" in sentence

    published, ours = headline_table(evaluation, Baseline.STOCK).rows
    assert published[:4] == ("published", "1 s", "9600", "> 44 %")
    assert ours[:4] == ("paper", "1 s", "2", "50.0 %")
    assert ours[7] == "50.0 %"


def test_only_the_published_comparison_has_a_published_row() -> None:
    """The paper says nothing of the deterministic baseline."""
    table = headline_table(an_evaluation(BETTER), Baseline.DETERMINISTIC)
    assert [row[0] for row in table.rows] == ["paper"]


def test_table_1_holds_ours_under_the_published_numbers() -> None:
    """Means of the instances with four priorities, in the column of their size."""
    instance = an_instance((4, 1, 1), case="x", levels=4)
    one = Categorised(instance, a_result((0, 1, 2), case="x", wall_s=0.25))
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
    theirs = Categorised(INSTANCE, a_result((0, 1, 2), tiers=(tier,)))
    ours = Categorised(
        INSTANCE,
        a_result(
            (0, 1, -1), strategy="lexicographic", tiers=(replace(tier, placed=2),)
        ),
    )
    figures = {
        one.name: one for one in evaluation_figures(an_evaluation(theirs, ours), [LIVE])
    }
    worse = figures["ours at 1 s: worse than the paper's strategy"]
    assert (worse.value, worse.met, worse.note) == (1.0, False, INSTANCE.case)
    assert figures["ours at 1 s: better than the paper's strategy"].value == 0
    assert figures["live: full cluster run over simulation"].met
    assert figures["paper at 1 s against stock: better"].value == 100


def test_the_page_stands_alone() -> None:
    """It is opened from a disk, or from the artefacts of a CI run."""
    evaluation = replace(
        an_evaluation(BETTER, EQUAL),
        missing={"n4-p4-k1-u90": 2},
        failures={"some task": "died of <thirst>"},
    )
    html = page(evaluation, (LIVE,), HEADER)
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html
    assert html.count("data:image/svg+xml;base64,") == 6
    assert "died of &lt;thirst&gt;" in html
    assert "n4-p4-k1-u90 (2)" in html
    assert "a machine" in html
