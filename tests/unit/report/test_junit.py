"""JUnit: what a CI system shows of a run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from outcomes import a_run, an_outcome

from stowage_testbed.report.junit import make_junit, write_junit
from stowage_testbed.run.outcome import RunOutcome


def parsed(run: RunOutcome) -> ET.Element:
    return ET.fromstring(make_junit(run))  # noqa: S314 - written by the code under test


def cases(run: RunOutcome) -> list[tuple[str | None, str | None]]:
    found = parsed(run).iter("testcase")
    return [(case.get("classname"), case.get("name")) for case in found]


def test_every_round_is_a_test_case_and_so_is_that_they_agree() -> None:
    """A report that merges rounds hides the one that failed, or differs."""
    rounds = (an_outcome(variant="tight"), an_outcome(variant="tight", repeat=2))
    assert cases(a_run(*rounds)) == [
        ("scenarios.paper", "figure-1@tight round 1"),
        ("scenarios.paper", "figure-1@tight round 2"),
    ]
    other = an_outcome(repeat=2, nodes={"a": ["n2"], "b": ["n1"]})
    assert cases(a_run(an_outcome(), other))[-1][0] == "stowage.determinism"


def test_control_characters_do_not_break_the_file(tmp_path: Path) -> None:
    """Messages carry whatever a log line held, also escape codes."""
    path = tmp_path / "deep" / "junit.xml"
    write_junit(a_run(an_outcome(error="\x1b[31mred\x00")), path)
    document = ET.fromstring(path.read_text())  # noqa: S314 - our own
    assert "red" in "".join(document.itertext())
