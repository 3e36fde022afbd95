"""A run shown again from its folder: Markdown, terminal and command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from outcomes import FAILED, a_run, a_stepped_outcome, an_outcome, saved_bundle
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.report.saved import make_saved_run, read_run
from stowage_testbed.report.showing import write_markdown, write_screen
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.scenario.check import CheckResult

ENVIRONMENT = {"source": {"commit": "0123456789abcdef", "modified": True}}


def saved(folder: Path, *outcomes: ScenarioOutcome) -> Path:
    return saved_bundle(folder, a_run(*outcomes), ENVIRONMENT)


def markdown_of(*outcomes: ScenarioOutcome, error: str = "") -> str:
    return write_markdown(make_saved_run(a_run(*outcomes, error=error), ENVIRONMENT))


def edited(folder: Path, **changes: Any) -> Path:
    """Change the document of a saved run."""
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def stowage(*arguments: str | Path) -> str:
    found = CliRunner().invoke(app, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0
    return found.stdout


def test_a_run_that_passed_says_so_in_its_heading() -> None:
    """A reader with twenty open pull requests reads one line of each."""
    text = markdown_of(an_outcome(after={"a": ["n1"], "b": ["n1"]}))

    assert text.startswith("# Stowage: passed, 1 of 1 scenario runs passed\n")
    assert "commit 0123456789ab, with changes" in text
    assert (
        "| paper/figure-1 | passed | 2 → 2 | 0 → 0 | 0 | 0 | - | "
        "10.0 → 10.0 (+0.0) | 50.0 → 50.0 (+0.0) | 5/9/- | 10 |" in text
    )
    assert "Failed checks" not in text
    assert "Evidence" not in text


REPEATING = CheckResult("moves", False, "1", "2", "moves: expected 1, found 2")


@pytest.mark.parametrize(
    ("outcomes", "error", "said"),
    [
        (
            [an_outcome(checks=(FAILED,)), an_outcome(name="b/c")],
            "",
            [
                "# Stowage: FAILED, 1 of 2 scenario runs passed\n",
                "| paper/figure-1 | 1 | placed | 3 | 2 | pod c is pending |",
                "| paper/figure-1 | FAILED (1) |",
            ],
        ),
        # Saying everything twice makes the reader look for the difference.
        ([an_outcome(checks=(REPEATING,))], "", ["figure-1 | 1 | moves | 1 | 2 |\n"]),
        # It has no failed check, and all the same did not pass.
        (
            [
                an_outcome(settled=False, error="no pod settled within 60 s"),
                a_stepped_outcome(error="step 1 failed: nobody came"),
            ],
            "",
            [
                "## Not carried through",
                "| paper/figure-1 | 1 | no pod settled within 60 s |",
                "| burst/small | 1 | step 1 failed: nobody came |",
                "| paper/figure-1 | ERROR | - | - |",
            ],
        ),
        # A scheduler that places otherwise each time passes every single check.
        (
            [an_outcome(), an_outcome(repeat=2, nodes={"a": ["n2"], "b": ["n2"]})],
            "",
            [
                "# Stowage: FAILED, 2 of 2 scenario runs passed\n",
                "| paper/figure-1 | 2 | a | n1 | n2 |",
                "passed 2/2",
                "2 differ",
            ],
        ),
        # Nothing failed, only nothing was run.
        (
            [],
            "the cluster did not come up",
            [
                "# Stowage: FAILED, 0 of 0 scenario runs passed\n",
                "the run ended early: the cluster did not come up",
            ],
        ),
    ],
    ids=["a failed check", "a message that repeats", "broke off", "differ", "no run"],
)
def test_what_went_wrong_stands_there(
    outcomes: list[ScenarioOutcome], error: str, said: list[str]
) -> None:
    """The way to the cause begins with the difference, not with a log."""
    text = markdown_of(*outcomes, error=error)

    assert text.startswith("# Stowage: FAILED, ")
    assert [one for one in said if one not in text] == []
    # A heading with nothing under it looks like a fault of the page.
    assert ("##" in text) == bool(outcomes)


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


def test_names_and_messages_cannot_break_the_table_or_the_page() -> None:
    """They come from whoever wrote the scenario, or from a cluster's messages."""
    check = CheckResult(
        "a|b", False, "<img src=x onerror=alert(1)>", "one\ntwo", "*[x](http://y)*`~`"
    )

    text = markdown_of(an_outcome(name="x/<b>|y", checks=(check,)))

    assert (
        "| x/&lt;b&gt;\\|y | 1 | a\\|b | &lt;img src=x onerror=alert(1)&gt; | "
        "one<br>two | \\*\\[x\\](http://y)\\*\\`\\~\\` |" in text
    )
    assert "<img" not in text
    assert "<b>" not in text


def test_a_run_says_the_same_from_memory_and_from_its_folder(tmp_path: Path) -> None:
    """What `stowage run` prints is what `stowage report` shows years later.

    The screen says the same without marks; a bundle that was made outside a Git
    checkout knows no commit.
    """
    outcomes = (
        an_outcome(after={"a": ["n1"], "b": ["n1"]}),
        a_stepped_outcome(checks=(FAILED,)),
    )

    folder = saved(tmp_path, *outcomes)
    assert markdown_of(*outcomes) == write_markdown(read_run(folder))
    said = write_screen(read_run(folder))
    assert said.endswith("FAILED, 1 of 2 scenario runs passed")
    assert "pod c is pending" in said
    assert "|" not in said
    edited(folder, environment={"source": None})
    assert "commit" not in write_markdown(read_run(folder))


def test_report_writes_markdown_of_a_run_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, or the bundle's own, and the step's summary if there is one.

    Standard output is piped on; a line of chatter would be part of the document.
    """
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


def test_a_comparisons_options_are_refused_for_a_run(tmp_path: Path) -> None:
    """Silence would be taken for a page that was written."""
    folder = saved(tmp_path, an_outcome())

    with pytest.raises(InputError, match="--html"):
        stowage("report", folder, "--html", tmp_path / "page.html")


def test_a_folder_without_a_bundle_has_a_way_out(tmp_path: Path) -> None:
    """The usual mistake is the folder above."""
    with pytest.raises(InputError, match="printed at its end"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scenarios": 3}, "Expected `array`"),
        ({"format": "stowage.dev/run/v9"}, "this reads 'stowage.dev/run/v2'"),
    ],
)
def test_a_broken_document_is_named_with_its_fault(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    """Months later it may be of another version."""
    folder = edited(saved(tmp_path, an_outcome()), **changes)

    with pytest.raises(InputError, match=said) as caught:
        read_run(folder)
    assert "run.json" in str(caught.value)
