"""JUnit XML: one test case for each scenario, variant and round.

Written by hand because it is forty lines; the structure is the one that Jenkins, GitLab
and GitHub's report actions read.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from stowage_testbed.report.showing import take_first_lines
from stowage_testbed.run.outcome import RunResult, ScenarioResult

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def make_junit(outcome: RunResult) -> str:
    """Return the run as a JUnit document."""
    suite = ET.Element("testsuite", name="stowage", timestamp=outcome.started)
    for item in outcome.scenarios:
        suite.append(_make_case(item))
    for one in outcome.divergences:
        name = f"{one.scenario} round {one.repeat}"
        case = ET.SubElement(suite, "testcase", classname="stowage.determinism", name=name)
        _add_problem(case, "failure", [one.in_words()])
    if outcome.error:
        case = ET.SubElement(suite, "testcase", classname="stowage.run", name=outcome.run)
        _add_problem(case, "error", [outcome.error])
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{sum(outcome.durations_s.values()):.3f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def write_junit(outcome: RunResult, path: Path) -> None:
    """Write the run as a JUnit file, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(make_junit(outcome), encoding="utf-8")


def _make_case(outcome: ScenarioResult) -> ET.Element:
    topic, _, behaviour = outcome.scenario.rpartition("/")
    variant = f"@{outcome.variant}" if outcome.variant else ""
    duration_s = sum(outcome.durations_s.values())
    case = ET.Element(
        "testcase",
        classname=f"scenarios.{topic.replace('/', '.')}" if topic else "scenarios",
        name=f"{behaviour}{variant} round {outcome.repeat}",
        time=f"{duration_s:.3f}",
    )
    if outcome.skipped:
        _add_problem(case, "skipped", [outcome.skipped])
    elif outcome.error:
        _add_problem(case, "error", [outcome.error])
    elif outcome.failed_checks:
        _add_problem(case, "failure", outcome.failures)
    return case


def _add_problem(case: ET.Element, tag: str, lines: list[str]) -> None:
    shown = [_FORBIDDEN.sub("\ufffd", line) for line in take_first_lines(lines)]
    problem = ET.SubElement(case, tag, message=shown[0])
    problem.text = "\n".join(shown)
