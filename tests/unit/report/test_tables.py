"""Tables that a person reads at the end of a run, and what is said meanwhile."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from amounts import GPU
from outcomes import FAILED, a_plan, a_run, a_stepped_outcome, an_outcome
from rich.console import Console

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.report import progress as progress_module
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.saved import make_saved_run
from stowage_testbed.report.showing import make_placement_table, show_run
from stowage_testbed.report.tables import make_tables
from stowage_testbed.run.outcome import ScenarioOutcome

BEFORE = {"a": ["n1"], "b": ["n2"], "c": [""]}
AFTER = {"a": ["n1"], "b": ["n1"], "c": ["n2"]}


def summary(*outcomes: ScenarioOutcome) -> tuple[list[dict[str, str]], list[str]]:
    table = make_tables(make_saved_run(a_run(*outcomes), {}))[-1]
    rows = [dict(zip(table.headers, cells, strict=True)) for cells in table.rows]
    return rows, list(table.notes)


def test_the_summary_shows_before_and_after() -> None:
    """Placements and utilisation before and after are what the testbed is for."""
    ((cells,), notes) = summary(
        an_outcome(nodes=BEFORE, after=AFTER, plans=(a_plan(),))
    )

    assert (cells["placed"], cells["pending"]) == ("2 → 3", "1 → 0")
    assert cells["memory %"] == "50.0 → 75.0 (+25.0)"
    assert cells["result"] == "passed"
    # p99 of ten samples is the maximum by another name.
    assert cells["p50/p90/p99 ms"] == "5/9/-"
    # A latency without its clock cannot be compared with anything.
    assert "clock: watch receipt" in notes[1]
    assert "3.5 ms behind the audit log (medians), resolution 3.0 ms" in notes[1]


def test_every_resource_that_nodes_have_has_a_column() -> None:
    """A GPU that a plan fills is worth more than the core beside it."""
    with_gpus = an_outcome(nodes={"a": ["n2"]}, after={"a": ["n2", "n2"]}, gpus=4)
    rows, _ = summary(with_gpus, an_outcome(name="paper/figure-2"))
    assert [row[f"{GPU} %"] for row in rows] == ["25.0 → 50.0 (+25.0)", "-"]


def test_rounds_share_a_line_that_shows_the_failed_one() -> None:
    """Ten rounds of six scenarios are sixty lines that nobody reads."""
    rounds = [
        an_outcome(),
        an_outcome(repeat=2, checks=(FAILED,)),
        an_outcome(repeat=3),
    ]
    ((cells,), _) = summary(*rounds)
    assert cells["result"] == "FAILED (1) 2/3"


def test_the_screen_ends_with_what_went_wrong_and_the_verdict() -> None:
    """The second question after "did it fail" is "what did it do instead"."""
    run = a_run(an_outcome(checks=(FAILED,)), error="interrupted")
    text = show_run(make_saved_run(run, {}), run.outcomes, Path("results"))
    assert "pod c is pending" in text
    assert text.index("Scenarios") < text.index("Failed checks")
    assert "the run ended early: interrupted" in text
    assert "FAILED: 0 of 1 scenario runs passed in " in text


def test_small_scenarios_show_who_stands_where() -> None:
    """Figure 1 of the paper, in letters; 256 pods on 32 nodes are for the bundle."""
    table = make_placement_table(an_outcome(nodes=BEFORE, after=AFTER))
    many = {f"w{number}": ["n1"] for number in range(20)}

    assert [line.split() for line in table.splitlines()[3:]] == [
        ["n1", "a", "a,", "b"],
        ["n2", "b", "c"],
        ["(pending)", "c"],
    ]
    assert make_placement_table(an_outcome(nodes=many)) == ""


def test_a_stepped_scenario_shows_how_it_ended() -> None:
    """It has one state to show, and a latency under late arrivals is another load's."""
    outcome = a_stepped_outcome()
    late = a_stepped_outcome(facts={"pods": 200, "late": 3, "latest_s": 0.123})

    ((cells,), _) = summary(outcome)
    lines = [line.split() for line in make_placement_table(outcome).splitlines()]

    assert (cells["scenario"], cells["placed"]) == ("burst/small", "1")
    assert (cells["pending"], cells["result"]) == ("1", "passed")
    assert (lines[1], lines[-1]) == (["node", "end"], ["(pending)", "web"])
    # Also workloads that only a trace names, and the scenario's own list has not.
    traced = make_placement_table(a_stepped_outcome(nodes={"shop": ["n1", "n1"]}))
    assert "shop x2" in traced
    assert summary(outcome, late)[1][2:] == [
        "burst/small round 1, step 1 (burst, line 12): 3 of 200 pods were created "
        "late, by 0.12 s at most"
    ]


def shown(*, terminal: bool) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    progress = LiveProgress(console)
    outcome = an_outcome(checks=(FAILED,))
    progress.run_started("run-1", 1)
    progress.run_progress("cluster run-ab12: up")
    progress.scenario_started(outcome.scenario, 1)
    progress.scenario_progress("waits for 3 pods")
    progress.scenario_ended(outcome)
    progress.run_finished(a_run(outcome))
    return stream.getvalue()


def test_without_a_terminal_every_step_is_a_line() -> None:
    """Escape codes in a CI log hide what happened; on a terminal the verdict stays."""
    text = shown(terminal=False)

    assert text.splitlines() == [
        "run run-1: 1 scenario runs",
        "cluster run-ab12: up",
        "paper/figure-1",
        "paper/figure-1: waits for 3 pods",
        "FAILED paper/figure-1 in 1.5 s",
        "  placed: expected 3, got 2",
    ]
    assert "FAILED paper/figure-1" in shown(terminal=True)


def test_a_step_that_takes_long_is_named_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A CI log that stands still looks like a run that hangs."""
    assert progress_module.REMIND_AFTER_S < 5
    monkeypatch.setattr(progress_module, "REMIND_AFTER_S", 0.0)
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=False, width=100))
    progress.run_started("run-1", 1)
    try:
        progress.run_progress("cluster run-ab12: up")
        wait_until(
            "a reminder",
            stream.getvalue,
            lambda text: "cluster run-ab12: up: " in text,
            timeout_s=HANG_S,
        )
    finally:
        progress.close()
