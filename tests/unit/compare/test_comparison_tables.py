"""What the tables of a comparison and its first sentence say, and how they look."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.tables import (
    all_tables,
    burst_table,
    comparison_markdown,
    describe_clocks,
    direction_table,
    lead_sentence,
    name_clock,
    screen,
    show_spread,
    show_value,
    verdict_table,
)
from stowage_testbed.compare.verdicts import Question
from stowage_testbed.text.tables import MOST_BYTES, Table, append_step_summary, markdown_text, terminal_text

ARMS = (BurstArm("default"), BurstArm("koordinator", service_s=0.012))


@pytest.fixture(scope="module")
def result() -> Comparison:
    return a_result(burst_rounds(1, ARMS, 5))


def row(table: Table, first: str) -> tuple[str, ...]:
    (found,) = (row for row in table.rows if row[0].startswith(first))
    return found


def test_values_are_shown_with_four_digits() -> None:
    """More than that no measurement here is good for; a spread is the extremes."""
    values = (0.0, 200.0, 0.123456, 1234.56, 0.0000123, -0.5, None)

    assert [show_value(one, "s") for one in values] == [
        "0", "200", "0.1235", "1235", "1.23e-05", "-0.5000", "-",
    ]  # fmt: skip
    assert show_value(64 * 2**20, "bytes") == "64.0 MiB"
    assert show_spread([0.3, 0.1, 0.2]) == "(0.1000 to 0.3000)"
    assert show_spread([5.0, 5.0]) == ""


def test_a_row_has_values_change_interval_and_verdict(result: Comparison) -> None:
    """Whoever reads one cell must not have to look elsewhere."""
    table = verdict_table(result, "own")

    assert table.headers == ("metric", "unit", "default", "koordinator")
    name, unit, default, koordinator = row(table, "t_sched_mean_s")
    assert (name, unit) == ("t_sched_mean_s ↓", "s")
    assert "\n" not in default
    value, change, verdict = koordinator.split("\n")
    assert " to " in value
    assert change.startswith("x")
    assert change.endswith("]")
    assert verdict == "worse"


def test_what_says_nothing_is_left_out_and_counted(result: Comparison) -> None:
    """Fifty lines of which nothing is said hide the five that matter."""
    short, whole = (verdict_table(result, "own", whole=one) for one in (False, True))
    (settings,) = (t for t in all_tables(result) if t.title.startswith("What differs"))

    hidden = len(whole.rows) - len(short.rows)
    assert hidden > 10
    assert f"{hidden} more metrics have no verdict; --all lists them." in short.notes
    assert [(row[1], row[-1]) for row in settings.rows] == [("QPS", "NO")]
    assert settings.notes == ("1 more settings are the same in all arms.",)
    # A cell too few shifts a whole row under other headings.
    for table in all_tables(result, whole=True):
        assert {len(row) for row in table.rows} == {len(table.headers)}


def test_failed_runs_come_first(result: Comparison) -> None:
    """A comparison with holes in it must not look whole."""
    records = list(result.records)
    records[3] = replace(records[3], error="the scheduler ended")

    first, *_ = all_tables(a_result(records))

    assert first.rows == (("own", "2", "koordinator", "the scheduler ended"),)


def test_the_papers_lines_stand_below_ours_and_beside_no_other_workload(result: Comparison) -> None:
    """Figures of other sizes mislead, and nobody has to have a rival.

    The paper's Koordinator is quicker than its default; this one is not.
    """
    table = burst_table(result, "own")
    record = result.records[0]
    alone = a_result([replace(record, pods=record.pods[:100])])

    ours, papers = table.rows[2:4]
    assert ours[:2] == ("koordinator", "200 x 5")
    assert papers[:3] == ("  paper: Koordinator", "200 x 3", "816.7")
    assert dict(zip(table.headers, papers, strict=True))["Jain ↑"] == "0.9806"
    assert any("Applied Sciences 16 (2026) 2481" in note for note in table.notes)
    assert any("resolution 1 ms" in note for note in table.notes)
    assert [row[0] for row in burst_table(alone, "own").rows] == ["default"]
    assert row(verdict_table(alone, "own"), "t_sched_mean_s")
    direction = direction_table(result, "own").rows[0]
    assert direction[:3] == ("koordinator", "T_sched mean", "x0.695")
    assert direction[3].startswith("x")
    assert direction[4] == "the opposite"


def test_names_cannot_break_out_of_markdown_nor_steer_a_terminal() -> None:
    """Names come from clusters and files; an escape sequence could hide a line."""
    text = markdown_text([Table("a|b", ("x",), (("<img onerror=alert(1)>\n|`*_",),))])

    assert r"## a\|b" in text
    assert r"| &lt;img onerror=alert(1)&gt;<br>\|\`\*\_ |" in text
    steering = Table("t", ("x",), (("a\x1b[2Jb\u202e",),))
    assert "a?[2Jb?" in terminal_text([steering])


def test_the_summary_of_a_step_is_appended_to_and_cut_at_a_line(tmp_path: Path) -> None:
    """Other commands of the step write there too; GitHub would drop one too large."""
    file = tmp_path / "summary.md"
    file.write_text("before\n")

    assert append_step_summary("after\n", {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.read_text() == "before\nafter\n"
    assert not append_step_summary("x", {})

    append_step_summary("é line\n" * 200_000, {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.stat().st_size <= MOST_BYTES
    *kept, _, last = file.read_text().splitlines()[2:]
    assert set(kept) == {"é line"}
    assert last.startswith("Cut here")


def sentence_of(other: BurstArm, rounds: int = 5, default: BurstArm = ARMS[0], **about: Any) -> tuple[str, Comparison]:
    """Return how the reports of a comparison with an arm called other begin."""
    arms = (default, replace(other, name="other"))
    comparison = replace(a_comparison(("default", "other")), **about)
    result = a_result(burst_rounds(1, arms, rounds), comparison)
    (judged,) = result.verdicts
    return lead_sentence(judged), result


@pytest.mark.parametrize(("service_s", "begin"), [(0.02, "default is "), (0.0005, "other is ")])
def test_every_report_begins_with_who_is_faster_by_how_much_and_how_sure(service_s: float, begin: str) -> None:
    """Whoever reads no further must have the answer: a factor above 1."""
    said, result = sentence_of(BurstArm(service_s=service_s))

    words = said.split()
    low, high = (float(words[words.index(one) + 1]) for one in ("(between", "and"))
    assert said.startswith(begin)
    assert 1 < low <= float(words[2]) <= high
    assert "5 rounds" in said
    assert "1 in 20" in said
    assert screen(result).startswith(said)
    third = comparison_markdown(result, whole=False).split("\n")[2]
    assert third.startswith(f"- {said[:20]}")


def test_without_an_answer_it_says_why_and_not_all_that_is_better_is_faster() -> None:
    """One round has no spread; nobody is faster by placing pods more evenly."""
    same, _ = sentence_of(BurstArm())
    once, _ = sentence_of(BurstArm(service_s=0.02), rounds=1)
    spread = Question(("pods_per_node_std",))
    even, _ = sentence_of(BurstArm(skew=0.0), 8, BurstArm(skew=0.5), question=spread)

    assert same.startswith("Neither other nor default is shown to be faster by 5 round")
    assert "one round shows no spread" in once
    assert even.startswith("other is better than default: pods_per_node")


def test_the_clock_of_each_run_is_named() -> None:
    """One run without a whole audit log must not pass for the others."""
    record, other = burst_rounds(1, (BurstArm("default"),), 2)
    mixed = [replace(record, clock="API server's answers", answers_late_s=0.004), other]

    assert name_clock([record, other]) == "watch receipt"
    assert name_clock(mixed) == ("API server's answers (1 runs) and watch receipt (1 runs)")
    assert "up to 4 ms late" in describe_clocks(mixed)
    assert "late" not in describe_clocks([other])
