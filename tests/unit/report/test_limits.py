"""Reports on runs in which something is wrong with every pod."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from outcomes import a_run, an_outcome, saved_bundle
from rich.console import Console

from stowage_testbed.report.junit import make_junit
from stowage_testbed.report.limits import MOST_CHARACTERS, MOST_LINES
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.saved import make_saved_run, read_run
from stowage_testbed.report.showing import write_markdown, write_screen
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.scenario.check import CheckResult

PODS = 50_000
LEFT_OUT = f"and {PODS - MOST_LINES:,} more; all are in run.json"


def a_bad_run() -> RunOutcome:
    checks = tuple(
        CheckResult("invariants", False, "kept", "overcommit", f"pod {number}")
        for number in range(PODS)
    )
    return a_run(an_outcome(checks=checks))


@pytest.fixture(scope="module")
def bad() -> RunOutcome:
    return a_bad_run()


def markdown(run: RunOutcome) -> str:
    return write_markdown(make_saved_run(run, {}))


def junit_text(run: RunOutcome) -> str:
    failure = ET.fromstring(make_junit(run)).find(".//failure")  # noqa: S314 - our own
    assert failure is not None
    return failure.text or ""


def test_a_report_has_the_first_lines_and_says_how_many_there_are(
    bad: RunOutcome,
) -> None:
    """Fifty thousand lines in a CI's page of failures."""
    text = junit_text(bad)

    assert MOST_LINES <= len(text.splitlines()) < MOST_LINES + 10
    assert text.splitlines()[-1] == LEFT_OUT


def test_a_saved_run_is_shown_within_bounds_and_kept_whole(
    tmp_path: Path, bad: RunOutcome
) -> None:
    """The page is for reading, the document for everything else."""
    folder = saved_bundle(tmp_path, bad)
    run = read_run(folder)

    for text in (write_markdown(run), write_screen(run)):
        assert LEFT_OUT in text
        assert len(text.splitlines()) < 2 * MOST_LINES
    (scenario,) = json.loads((folder / "run.json").read_text())["scenarios"]
    assert len(scenario["checks"]) == PODS


def test_progress_shows_the_first_failures(bad: RunOutcome) -> None:
    """It is printed while the run goes on, line by line."""
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, width=200))
    (outcome,) = bad.outcomes
    progress.scenario_ended(outcome)

    assert stream.getvalue().splitlines()[-1].strip() == LEFT_OUT
    assert len(stream.getvalue().splitlines()) < MOST_LINES + 10


def test_a_cell_that_names_every_node_is_cut() -> None:
    """Rounds that differ have a node for each of a workload's pods."""
    nodes = {"a": [f"node-{number}" for number in range(PODS)], "b": ["n1"]}
    other = {"a": [f"node-{number + 1}" for number in range(PODS)], "b": ["n1"]}
    run = a_run(an_outcome(nodes=nodes), an_outcome(repeat=2, nodes=other))

    for text in (make_junit(run), markdown(run)):
        assert "characters; all are in run.json" in text
        assert max(map(len, text.splitlines())) < 4 * MOST_CHARACTERS
