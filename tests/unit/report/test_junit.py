"""JUnit: what a CI system shows of a run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from outcomes import FAILED, a_run, an_outcome

from stowage_testbed.report.junit import make_junit, write_junit


def parsed(document: str) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314 - written by the code under test


def cases(document: str) -> list[ET.Element]:
    return list(parsed(document).iter("testcase"))


def test_every_round_is_a_test_case() -> None:
    """A report that merges rounds hides the one that failed."""
    run = a_run(an_outcome(variant="tight"), an_outcome(variant="tight", repeat=2))

    names = [
        (case.get("classname"), case.get("name")) for case in cases(make_junit(run))
    ]

    assert names == [
        ("scenarios.paper", "figure-1@tight round 1"),
        ("scenarios.paper", "figure-1@tight round 2"),
    ]


def test_a_failed_check_is_a_failure_with_both_values() -> None:
    """Nobody should have to open the log to see what was expected."""
    document = make_junit(a_run(an_outcome(checks=(FAILED,))))

    failure = next(parsed(document).iter("failure"))

    assert "placed: expected 3, got 2" in (failure.text or "")
    assert next(parsed(document).iter("testsuite")).get("failures") == "1"


def test_an_error_is_no_failure() -> None:
    """A cluster that broke says nothing about the scheduler under test."""
    document = make_junit(a_run(an_outcome(settled=False, error="no answer")))

    suite = next(parsed(document).iter("testsuite"))

    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_rounds_that_differ_fail() -> None:
    """Each round may pass its checks while the run as a whole is not deterministic."""
    run = a_run(an_outcome(), an_outcome(repeat=2, nodes={"a": ["n2"], "b": ["n1"]}))

    assert cases(make_junit(run))[-1].get("classname") == "stowage.determinism"


def test_a_run_that_ended_early_is_an_error() -> None:
    """Else a report with no test cases would count as green."""
    suite = next(parsed(make_junit(a_run(error="gone"))).iter("testsuite"))

    assert suite.get("errors") == "1"


def test_control_characters_do_not_break_the_file(tmp_path: Path) -> None:
    """Messages carry whatever a log line held, also escape codes."""
    path = tmp_path / "deep" / "junit.xml"

    write_junit(a_run(an_outcome(error="\x1b[31mred\x00")), path)

    assert "red" in (cases(path.read_text())[0][0].text or "")
