"""What the tables of a comparison say, and how they are shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.all_tables import all_tables
from stowage_testbed.compare.tables.burst_table import burst_table, direction_table
from stowage_testbed.compare.tables.numbers import shown, spread_shown
from stowage_testbed.compare.tables.verdict_table import verdict_table
from stowage_testbed.text.markdown import MOST_BYTES, append_step_summary, markdown_text
from stowage_testbed.text.table import Table
from stowage_testbed.text.terminal import terminal_text

ARMS = (BurstArm("default"), BurstArm("koordinator", service_s=0.012))


@pytest.fixture(scope="module")
def result() -> Result:
    return a_result(burst_rounds(1, ARMS, 5))


def row(table: Table, first: str) -> tuple[str, ...]:
    (found,) = (row for row in table.rows if row[0].startswith(first))
    return found


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.0, "s", "0"),
        (200.0, "pods", "200"),
        (0.123456, "s", "0.1235"),
        (12.3456, "s", "12.35"),
        (1234.56, "pods/s", "1235"),
        (0.0000123, "s", "1.23e-05"),
        (-0.5, "ratio", "-0.5000"),
        (64 * 2**20, "bytes", "64.0 MiB"),
        (None, "s", "-"),
    ],
)
def test_values_are_shown_with_four_digits(
    value: float | None, unit: str, said: str
) -> None:
    """More than that no measurement here is good for; a spread is the extremes."""
    assert shown(value, unit) == said
    assert spread_shown([0.3, 0.1, 0.2]) == "(0.1000 to 0.3000)"
    assert spread_shown([5.0, 5.0]) == ""


def test_a_row_has_values_change_interval_and_verdict(result: Result) -> None:
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


def test_metrics_without_a_verdict_are_counted_and_listed_on_demand(
    result: Result,
) -> None:
    """Fifty lines of which nothing is said hide the five that matter."""
    short, whole = (verdict_table(result, "own", whole=one) for one in (False, True))

    hidden = len(whole.rows) - len(short.rows)
    assert hidden > 10
    assert f"{hidden} more metrics have no verdict; --all lists them." in short.notes


def test_the_papers_lines_stand_below_ours(result: Result) -> None:
    """Reproduction is shown side by side, with both origins."""
    table = burst_table(result, "own")

    ours, papers = table.rows[2:4]
    assert ours[:2] == ("koordinator", "200 x 5")
    assert papers[:3] == ("  paper: Koordinator", "200 x 3", "816.7")
    assert dict(zip(table.headers, papers, strict=True))["Jain ↑"] == "0.9806"
    assert any("Applied Sciences 16 (2026) 2481" in note for note in table.notes)
    assert any("resolution 1 ms" in note for note in table.notes)


def test_the_papers_lines_are_left_out_of_another_workload() -> None:
    """Figures of other sizes beside each other mislead.

    Nobody has to have a rival to be measured.
    """
    record = burst_rounds(1, ARMS, 1)[0]
    smaller = replace(record, pods=record.pods[:100])

    alone = a_result([smaller])

    assert [row[0] for row in burst_table(alone, "own").rows] == ["default"]
    assert row(verdict_table(alone, "own"), "t_sched_mean_s")


def test_directions_are_distinguished(result: Result) -> None:
    """The paper's Koordinator is quicker than its default; this one is not."""
    table = direction_table(result, "own")

    arm, figure, papers, ours, direction = table.rows[0]
    assert (arm, figure, papers) == ("koordinator", "T_sched mean", "x0.695")
    assert ours.startswith("x")
    assert direction == "the opposite"


def test_failed_runs_come_first(result: Result) -> None:
    """A comparison with holes in it must not look whole."""
    records = list(result.records)
    records[3] = replace(records[3], error="the scheduler ended")

    first, *_ = all_tables(a_result(records))

    assert first.rows == (("own", "2", "koordinator", "the scheduler ended"),)


def test_only_settings_that_differ_are_shown(result: Result) -> None:
    """What is the same explains no difference."""
    (table,) = (t for t in all_tables(result) if t.title.startswith("What differs"))

    assert [row[1] for row in table.rows] == ["QPS"]
    assert table.rows[0][-2:] == ("NO", "why")
    assert table.notes == ("1 more settings are the same in all arms.",)


def test_names_cannot_break_out_of_markdown() -> None:
    """Names come from clusters and from users' files."""
    table = Table("a|b", ("x",), (("<img src=x onerror=alert(1)>\n|`*_",),))

    text = markdown_text([table])

    assert r"## a\|b" in text
    assert "<img" not in text
    assert r"| &lt;img src=x onerror=alert(1)&gt;<br>\|\`\*\_ |" in text


def test_names_cannot_steer_a_terminal() -> None:
    """An escape sequence in a pod's name could hide a line of the table."""
    table = Table("t", ("x",), (("a\x1b[2Jb\u202e",),))

    assert "a?[2Jb?" in terminal_text([table])


def test_the_summary_of_a_step_is_appended_to(tmp_path: Path) -> None:
    """Other commands of the step write there too."""
    file = tmp_path / "summary.md"
    file.write_text("before\n")

    assert append_step_summary("after\n", {"GITHUB_STEP_SUMMARY": str(file)})
    assert file.read_text() == "before\nafter\n"
    assert not append_step_summary("x", {})


def test_a_summary_that_is_too_large_is_cut_at_a_line(tmp_path: Path) -> None:
    """GitHub would drop all of it."""
    file = tmp_path / "summary.md"

    append_step_summary("é line\n" * 200_000, {"GITHUB_STEP_SUMMARY": str(file)})

    assert file.stat().st_size <= MOST_BYTES
    *kept, _, last = file.read_text().splitlines()
    assert set(kept) == {"é line"}
    assert last.startswith("Cut here")


def test_every_table_is_of_one_width(result: Result) -> None:
    """A cell too few shifts a whole row under other headings."""
    comparison = a_comparison(("default", "koordinator"))
    for table in all_tables(a_result(result.records, comparison), whole=True):
        assert {len(row) for row in table.rows} == {len(table.headers)}
