"""Tables that a person reads at the end of a run."""

from __future__ import annotations

from pathlib import Path

from amounts import GPU
from outcomes import FAILED, a_plan, a_run, a_stepped_outcome, an_outcome

from stowage_testbed.report.saved import make_saved_run
from stowage_testbed.report.showing import make_placement_table, show_run
from stowage_testbed.report.tables import make_tables
from stowage_testbed.run.outcome import RunOutcome, ScenarioOutcome
from stowage_testbed.text.table import Table

BEFORE = {"a": ["n1"], "b": ["n2"], "c": [""]}
AFTER = {"a": ["n1"], "b": ["n1"], "c": ["n2"]}


def summary(*outcomes: ScenarioOutcome) -> Table:
    return make_tables(make_saved_run(a_run(*outcomes), {}))[-1]


def row(*outcomes: ScenarioOutcome) -> dict[str, str]:
    """Return the one line of the table of scenarios."""
    table = summary(*outcomes)
    (cells,) = table.rows
    return dict(zip(table.headers, cells, strict=True))


def shown(run: RunOutcome) -> str:
    return show_run(make_saved_run(run, {}), run.outcomes, Path("results"))


def test_the_summary_shows_before_and_after() -> None:
    """Placements and utilisation before and after are what the testbed is for."""
    cells = row(an_outcome(nodes=BEFORE, after=AFTER, plans=(a_plan(),)))

    assert cells["placed"] == "2 → 3"
    assert cells["pending"] == "1 → 0"
    assert cells["memory %"] == "50.0 → 75.0 (+25.0)"
    assert cells["result"] == "passed"
    # p99 of ten samples is the maximum by another name.
    assert cells["p50/p90/p99 ms"] == "5/9/-"


def test_every_resource_that_nodes_have_has_a_column() -> None:
    """A GPU that a plan fills is worth more than the core beside it."""
    with_gpus = an_outcome(nodes={"a": ["n2"]}, after={"a": ["n2", "n2"]}, gpus=4)
    table = summary(with_gpus, an_outcome(name="paper/figure-2"))

    shares = [
        dict(zip(table.headers, cells, strict=True))[f"{GPU} %"] for cells in table.rows
    ]
    assert shares == ["25.0 → 50.0 (+25.0)", "-"]


def test_rounds_share_a_line_that_shows_the_failed_one() -> None:
    """Ten rounds of six scenarios are sixty lines that nobody reads."""
    cells = row(
        an_outcome(),
        an_outcome(repeat=2, checks=(FAILED,)),
        an_outcome(repeat=3),
    )

    assert cells["result"] == "FAILED (1) 2/3"


def test_the_note_names_clock_and_resolution() -> None:
    """A latency without its clock cannot be compared with anything."""
    _, note = summary(an_outcome()).notes

    assert "clock: watch receipt" in note
    assert "3.5 ms behind the audit log (medians), resolution 3.0 ms" in note


def test_the_screen_ends_with_what_went_wrong_and_the_verdict() -> None:
    """The second question after "did it fail" is "what did it do instead"."""
    text = shown(a_run(an_outcome(checks=(FAILED,)), error="interrupted"))

    assert "pod c is pending" in text
    assert text.index("Scenarios") < text.index("Failed checks")
    assert "the run ended early: interrupted" in text
    assert "FAILED: 0 of 1 scenario runs passed in " in text


def test_small_scenarios_show_who_stands_where() -> None:
    """Figure 1 of the paper, in letters."""
    table = make_placement_table(an_outcome(nodes=BEFORE, after=AFTER))

    assert [line.split() for line in table.splitlines()[3:]] == [
        ["n1", "a", "a,", "b"],
        ["n2", "b", "c"],
        ["(pending)", "c"],
    ]


def test_large_scenarios_show_no_placement_table() -> None:
    """256 pods on 32 nodes are for the bundle, not for the screen."""
    many = {f"w{number}": ["n1"] for number in range(20)}

    assert make_placement_table(an_outcome(nodes=many)) == ""


def test_a_stepped_scenario_shows_how_it_ended() -> None:
    """It has one state to show, not two."""
    outcome = a_stepped_outcome()

    cells = row(outcome)
    table = make_placement_table(outcome)

    assert (cells["scenario"], cells["placed"]) == ("burst/small", "1")
    assert (cells["pending"], cells["result"]) == ("1", "passed")
    assert table.splitlines()[1].split() == ["node", "end"]
    assert table.splitlines()[-1].split() == ["(pending)", "web"]
    # Also workloads that only a trace names, and the scenario's own list has not.
    traced = make_placement_table(a_stepped_outcome(nodes={"shop": ["n1", "n1"]}))
    assert "shop x2" in traced


def test_pods_that_were_created_late_are_reported() -> None:
    """A latency under arrivals that were not kept is one of another load."""
    late = a_stepped_outcome(facts={"pods": 200, "late": 3, "latest_s": 0.123})

    assert summary(a_stepped_outcome(), late).notes[2:] == (
        "burst/small round 1, step 1 (burst, line 12): 3 of 200 pods were created "
        "late, by 0.12 s at most",
    )
