"""A run shown again from its folder, whole or within the bounds of a page."""

import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from outcomes import FAILED, a_run, a_stepped_outcome, an_outcome, saved_bundle
from rich.console import Console
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cli import app
from stowage_testbed.pytest.scenario_items import list_reports
from stowage_testbed.report import progress as progress_module
from stowage_testbed.report.progress import LiveProgress
from stowage_testbed.report.showing import (
    MOST_CHARACTERS,
    MOST_LINES,
    make_placement_table,
    make_tables,
    show_run,
    write_markdown,
    write_screen,
)
from stowage_testbed.run.outcome import ScenarioOutcome, read_run
from stowage_testbed.scenario.check import CheckResult

RUNS = yaml.safe_load(Path(__file__).with_name("runs.yaml").read_text("utf-8"))
ENVIRONMENT = {"source": {"commit": "0123456789abcdef", "modified": True}}


def saved(folder: Path, *outcomes: ScenarioOutcome) -> Path:
    return saved_bundle(folder, a_run(*outcomes), ENVIRONMENT)


def markdown_of(*outcomes: ScenarioOutcome) -> str:
    return write_markdown(replace(a_run(*outcomes), environment=ENVIRONMENT))


def edited(folder: Path, **changes: Any) -> Path:
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def stowage(*arguments: str | Path) -> str:
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0
    return found.stdout


def outcome_of(row: Mapping[str, Any]) -> ScenarioOutcome:
    plain = {name: value for name, value in row.items() if name != "step"}
    if "checks" in row:
        plain["checks"] = tuple(CheckResult(*one) for one in row["checks"])
    return a_stepped_outcome(**plain) if "step" in row else an_outcome(**plain)


@pytest.mark.parametrize("what", RUNS)
def test_reports_say_what_came_of_a_run(what: str) -> None:
    """The way to the cause begins with the difference, not with a log."""
    case = RUNS[what]
    run = replace(a_run(*map(outcome_of, case["outcomes"]), error=case.get("error", "")), environment=ENVIRONMENT)
    text = write_markdown(run)
    reports = list(list_reports(run))

    assert [one for one in case.get("markdown", ()) if one not in text] == []
    assert [one for one in case.get("lacks", ()) if one in text] == []
    junit = dict(case.get("junit", {}))
    assert junit.pop("said", "") in "".join(str(one.longrepr) for one in reports)
    # To JUnit what fails before its call is an error.
    counts = Counter("failures" if one.when == "call" else "errors" for one in reports if one.failed)
    assert {name: counts[name] for name in junit} == junit
    if "cases" in case:
        assert [one.nodeid for one in reports] == case["cases"]
    if "cells" in case:
        table = make_tables(run)[-1]
        for row, cells in zip(table.rows, case["cells"], strict=True):
            assert cells.items() <= dict(zip(table.headers, row, strict=True)).items()
        notes = "\n".join(table.notes)
        assert [one for one in case.get("notes", ()) if one not in notes] == []
    if "placements" in case:
        lines = make_placement_table(run.scenarios[0]).splitlines()[3:]
        assert [line.split() for line in lines] == case["placements"]


def test_the_evidence_is_where_the_summary_says(tmp_path: Path) -> None:
    """The path is one of the artefact's, whoever downloads it and wherever to."""
    outcome = an_outcome(variant="mixed", repeat=2, checks=(FAILED,))
    folder = saved(tmp_path, outcome)
    name = "failed/paper-figure-1-mixed/round-2"
    assert f"| {name} |" in write_markdown(read_run(folder))
    assert (folder / name / "what-failed.txt").is_file()


def test_what_was_skipped_has_not_passed(tmp_path: Path) -> None:
    """A backend that cannot do half of the scenarios would look as good as any."""
    folder = saved(tmp_path, an_outcome(), an_outcome(name="b/c", settled=False))
    document = json.loads((folder / "run.json").read_text())
    document["scenarios"][1]["skipped"] = "no usage is measured on kind"
    text = write_markdown(read_run(edited(folder, **document)))
    assert text.startswith("# Stowage: passed, 1 of 1 scenario runs passed, 1 skipped")
    assert "| b/c | 1 | no usage is measured on kind |" in text
    assert "| b/c | skipped | - |" in text


def test_a_run_says_the_same_from_memory_and_from_its_folder(tmp_path: Path) -> None:
    """What `stowage run` prints is what `stowage report` shows years later."""
    outcomes = (an_outcome(after={"a": ["n1"], "b": ["n1"]}), a_stepped_outcome(checks=(FAILED,)))

    folder = saved(tmp_path, *outcomes)
    assert markdown_of(*outcomes) == write_markdown(read_run(folder))
    said = write_screen(read_run(folder))
    assert said.endswith("FAILED, 1 of 2 scenario runs passed")
    assert "pod c is pending" in said
    assert "|" not in said
    edited(folder, environment={"source": None})
    assert "commit" not in write_markdown(read_run(folder)), "made outside a checkout"


def test_report_writes_markdown_of_a_run_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is piped on; a line of chatter would be part of the document."""
    folder = saved(tmp_path / "results", an_outcome())
    summary, file = tmp_path / "summary.md", tmp_path / "deep" / "run.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    document = stowage("report", folder, "--markdown", "-")
    assert document == write_markdown(read_run(folder))
    assert not (folder / "report.md").exists()
    summary.unlink(missing_ok=True)
    said = stowage("report", folder, "--markdown", file)
    stowage("report", folder)

    assert f"written: {file}" in said
    assert file.read_text() == (folder / "report.md").read_text()
    assert summary.read_text() == 2 * file.read_text()
    # Silence would be taken for a page that was written.
    with pytest.raises(InputError, match="--all"):
        stowage("report", folder, "--all")


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"scenarios": 3}, "Expected `array`"), ({"format": "stowage.dev/run/v9"}, "this reads 'stowage.dev/run/v2'")],
)
def test_a_broken_document_is_named_with_its_fault(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """It may be of another version, or in the folder below."""
    folder = edited(saved(tmp_path, an_outcome()), **changes)
    with pytest.raises(InputError, match=said) as caught:
        read_run(folder)
    assert "run.json" in str(caught.value)
    with pytest.raises(InputError, match="printed at its end"):
        read_run(tmp_path)


PODS = 50_000
LEFT_OUT = f"and {PODS - MOST_LINES:,} more; all are in run.json"


def test_reports_and_progress_have_the_first_lines_and_the_document_all(tmp_path: Path) -> None:
    """Fifty thousand lines are no page to read, in a CI's list of failures or here."""
    checks = tuple(CheckResult("invariants", False, "kept", "overcommit", f"pod {number}") for number in range(PODS))
    run = a_run(an_outcome(checks=checks))
    (report,) = list_reports(run)
    stream, folder = io.StringIO(), saved_bundle(tmp_path, run)
    LiveProgress(Console(file=stream, width=200)).scenario_ended(run.scenarios[0])

    for text in (str(report.longrepr), stream.getvalue()):
        lines = text.splitlines()
        assert MOST_LINES <= len(lines) < MOST_LINES + 10
        assert lines[-1].strip() == LEFT_OUT
    for text in (write_markdown(read_run(folder)), write_screen(read_run(folder))):
        assert LEFT_OUT in text
        assert len(text.splitlines()) < 2 * MOST_LINES
    (scenario,) = json.loads((folder / "run.json").read_text())["scenarios"]
    assert len(scenario["checks"]) == PODS


def test_a_cell_that_names_every_node_is_cut() -> None:
    """Rounds that differ have a node for each of a workload's pods."""
    rounds = [
        an_outcome(repeat=repeat, nodes={"a": [f"node-{one + repeat}" for one in range(PODS)], "b": ["n1"]})
        for repeat in (1, 2)
    ]
    run = a_run(*rounds)

    for text in (str([*list_reports(run)][-1].longrepr), write_markdown(run)):
        assert "characters; all are in run.json" in text
        assert max(map(len, text.splitlines())) < 4 * MOST_CHARACTERS


def test_the_screen_ends_with_what_went_wrong_and_the_verdict() -> None:
    """The second question after "did it fail" is "what did it do instead"."""
    run = a_run(an_outcome(checks=(FAILED,)), error="interrupted")
    text = show_run(run, Path("results"))
    assert "pod c is pending" in text
    assert text.index("Scenarios") < text.index("Failed checks")
    assert "the run ended early: interrupted" in text
    assert "FAILED: 0 of 1 scenario runs passed in " in text


def shown(*, terminal: bool) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    progress = LiveProgress(console)
    outcome = an_outcome(checks=(FAILED,))
    progress.run_started("run-1", 1)
    progress.run_progress("cluster run-ab12: up")
    progress.scenario_started(outcome.source, 1)
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
        "  placed: expected 3, found 2",
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
        wait_until("a reminder", stream.getvalue, lambda text: "cluster run-ab12: up: " in text)
    finally:
        progress.close()
