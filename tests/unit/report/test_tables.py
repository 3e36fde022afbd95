"""Tables that a person reads at the end of a run."""

from __future__ import annotations

from outcomes import FAILED, a_plan, a_run, a_stepped_outcome, an_outcome

from stowage_testbed.report.failures_table import failures_table
from stowage_testbed.report.lateness import lateness_note
from stowage_testbed.report.placement_table import placement_table
from stowage_testbed.report.summary_table import summary_note, summary_table

BEFORE = {"a": ["n1"], "b": ["n2"], "c": [""]}
AFTER = {"a": ["n1"], "b": ["n1"], "c": ["n2"]}


def last_line(table: str) -> str:
    return table.splitlines()[-1]


def test_the_summary_shows_before_and_after() -> None:
    """Placements and utilisation before and after are what the testbed is for."""
    outcome = an_outcome(nodes=BEFORE, after=AFTER, plans=(a_plan(),))

    line = last_line(summary_table([outcome]))

    assert "2 → 3" in line
    assert "1 → 0" in line
    assert "50.0 → 75.0 (+25.0)" in line
    assert line.endswith("passed")


def test_a_percentile_without_enough_samples_is_left_out() -> None:
    """p99 of ten samples is the maximum by another name."""
    assert "5/9/-" in last_line(summary_table([an_outcome()]))


def test_rounds_share_a_line_that_shows_the_failed_one() -> None:
    """Ten rounds of six scenarios are sixty lines that nobody reads."""
    rounds = [
        an_outcome(),
        an_outcome(repeat=2, checks=(FAILED,)),
        an_outcome(repeat=3),
    ]

    assert last_line(summary_table(rounds)).endswith("FAILED (1) 2/3")


def test_rounds_that_differ_show_no_single_hash() -> None:
    """One of two hashes would look like agreement."""
    rounds = [an_outcome(), an_outcome(repeat=2, nodes={"a": ["n2"], "b": ["n1"]})]

    assert "2 differ" in last_line(summary_table(rounds))


def test_the_note_names_clock_and_resolution() -> None:
    """A latency without its clock cannot be compared with anything."""
    note = summary_note(a_run(an_outcome()))

    assert "clock: watch receipt" in note
    assert "3.5 ms behind the audit log (medians), resolution 3.0 ms" in note


def test_the_faults_show_expected_and_actual() -> None:
    """The second question after "did it fail" is "what did it do instead"."""
    table = failures_table(a_run(an_outcome(checks=(FAILED,)), error="interrupted"))

    assert "placed" in table
    assert "the run ended early: interrupted" in table


def test_no_faults_no_table() -> None:
    """A green run does not end with an empty heading."""
    assert failures_table(a_run(an_outcome())) == ""


def test_small_scenarios_show_who_stands_where() -> None:
    """Figure 1 of the paper, in letters."""
    table = placement_table(an_outcome(nodes=BEFORE, after=AFTER))

    assert [line.split() for line in table.splitlines()[3:]] == [
        ["n1", "a", "a,", "b"],
        ["n2", "b", "c"],
        ["(pending)", "c"],
    ]


def test_large_scenarios_show_no_placement_table() -> None:
    """256 pods on 32 nodes are for the bundle, not for the screen."""
    many = {f"w{number}": ["n1"] for number in range(20)}

    assert placement_table(an_outcome(nodes=many)) == ""


def test_a_stepped_scenario_shows_how_it_ended() -> None:
    """It has one state to show, not two."""
    outcome = a_stepped_outcome()

    line = last_line(summary_table([outcome]))
    table = placement_table(outcome)

    assert line.split()[:4] == ["burst/small", "-", "1", "1"]
    assert "→" not in line
    assert line.endswith("passed")
    assert table.splitlines()[1].split() == ["node", "end"]
    assert table.splitlines()[-1].split() == ["(pending)", "web"]


def test_workloads_that_only_a_trace_names_are_shown() -> None:
    """The scenario's own list does not have them."""
    table = placement_table(a_stepped_outcome(nodes={"shop": ["n1", "n1"]}))

    assert "shop x2" in table


def test_pods_that_were_created_late_are_reported() -> None:
    """A latency under arrivals that were not kept is one of another load."""
    late = a_stepped_outcome(facts={"pods": 200, "late": 3, "latest_s": 0.123})

    assert lateness_note([a_stepped_outcome(), late]) == (
        "burst/small round 1, step 1 (burst, line 12): 3 of 200 pods were created "
        "late, by 0.12 s at most"
    )


def test_a_step_that_failed_is_an_error_of_its_scenario() -> None:
    """The message names the step, its kind and its line."""
    error = "step 1 (burst, line 12) of a.yaml failed: no answer"
    outcome = a_stepped_outcome(error=error)

    assert last_line(summary_table([outcome])).endswith("ERROR")
    assert error in failures_table(a_run(outcome))
