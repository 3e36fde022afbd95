"""Every way to write a scenario wrongly: the place that is named, and the way out."""

import codecs
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.load import load_file, load_folder
from stowage_testbed.scenario.manifest_rules import find_schedule_fault
from stowage_testbed.scenario.yaml_file import ScenarioIssuesError

FOLDER = Path(__file__).with_name("bad")
TABLE: dict[str, Any] = yaml.safe_load((FOLDER / "faults.yaml").read_text("utf-8"))
FILES: dict[str, Any] = yaml.safe_load((FOLDER / "files.yaml").read_text("utf-8"))
SCENARIO, FAULTS = TABLE["scenario"], TABLE["faults"]
VARIANT = """\
parameters:
  size: {type: integer, default: 3}
variants:
  other: {set: {CHANGE}}
nodes:
"""


def issues_of(tmp_path: Path, content: str | bytes) -> list[str]:
    """Return the issues of a file as ``line:column: message``; none if it is good."""
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    try:
        load_file(path)
    except ScenarioIssuesError as error:
        lines = str(error).splitlines()[1:]
        return [line.removeprefix(f"  {path}:") for line in lines]
    return []


@pytest.mark.parametrize(
    "content",
    [
        SCENARIO.encode(),
        codecs.BOM_UTF8 + SCENARIO.encode(),
        SCENARIO.encode("utf-16"),
        SCENARIO.replace("\n", "\r\n").encode(),
    ],
    ids=["UTF-8", "with a byte order mark", "UTF-16", "with the line ends of Windows"],
)
def test_the_scenario_that_all_cases_start_from_is_good_as_any_editor_writes_it(content: bytes, tmp_path: Path) -> None:
    """Otherwise the cases would show the issues of their frame."""
    assert issues_of(tmp_path, content) == []


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_issue_is_named_with_its_place_and_the_way_out(fault: dict[str, str], tmp_path: Path) -> None:
    """An author should be able to fix the file without reading our code."""
    old, new = fault["instead of"], fault["there is"]
    assert SCENARIO.count(old) == 1

    assert fault["issue"] in issues_of(tmp_path, SCENARIO.replace(old, new))


@pytest.mark.parametrize("change", TABLE["sound"].values(), ids=TABLE["sound"])
def test_what_comes_near_to_an_issue_is_none(change: dict[str, str], tmp_path: Path) -> None:
    """A rule that refuses what works keeps people from writing it."""
    assert SCENARIO.count(change["instead of"]) == 1

    assert issues_of(tmp_path, SCENARIO.replace(change["instead of"], change["there is"])) == []


GOOD_SCHEDULES = ["*/5 0-12/2 1,15 jan-MAR sun", "? * * * 6", "@daily", "@every 1h30m", "5/15 * * * *"]
BAD_SCHEDULES = [
    "every hour", "60 * * * *", "* * * * 7", "* * * * * *", "*/0 * * * *", "5-1 * * * *", "* * 0 * *", "* * * foo *",
    "@often", "@every soon", "TZ=UTC * * * * *", "1--2 * * * *", "",
]  # fmt: skip


@pytest.mark.parametrize("schedule", [*GOOD_SCHEDULES, *BAD_SCHEDULES])
def test_a_schedule_is_refused_if_kubernetes_refuses_it(schedule: str) -> None:
    """A CronJob that works is good, and one that does not would fail in the run."""
    assert bool(find_schedule_fault(schedule)) == (schedule in BAD_SCHEDULES)


def test_what_no_server_reads_may_be_anything(tmp_path: Path) -> None:
    """The words of a ConfigMap, or of an annotation, are its reader's."""
    config = "settings: {kind: ConfigMap, metadata: {annotations: {schedule: never}}, data: {volumes: loud}}"
    text = SCENARIO.replace("objects:\n", f"objects:\n  {config}\n", 1).replace("apply: [db", "apply: [settings, db")

    assert issues_of(tmp_path, text) == []


def test_all_issues_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    """Mending one issue at a time costs one run each."""
    changes = {
        "to: 3": "to: -3",
        "cordon: node-0": "cordn: node-0",
        "kind: Reservation": "kind: ",
        "margin: 2": "margin: 0",
    }
    text = SCENARIO
    for old, new in changes.items():
        text = text.replace(old, new)

    assert [int(one.split(":")[0]) for one in issues_of(tmp_path, text)] == [11, 16, 20, 26]


@pytest.mark.parametrize(
    ("change", "begins"),
    [
        ("size: 4", []),
        ("sise: 4", ["7:17: no parameter is called 'sise'; did you mean 'siz"]),
        ("size: x", ["7:23: parameter 'size' takes values of type integer;"]),
        ("size: -1", ["7:23: steps[2].scale.to must be at least 0, not -1"]),
        # The expectations are those of the default run.
        ("size: 2", ["25:21: the scenario has only 13", "28:17: the scenario"]),
    ],
)
def test_issues_of_a_variant_are_named_where_its_values_stand(change: str, begins: list[str], tmp_path: Path) -> None:
    """The place of use is right for the default run; the variant's value is wrong."""
    text = SCENARIO.replace("nodes:\n", VARIANT.replace("CHANGE", change), 1).replace("to: 3", 'to: "${size}"')
    found = issues_of(tmp_path, text)

    assert bool(found) == bool(begins)
    for begin in begins:
        assert [one for one in found if one.startswith(begin)]


@pytest.mark.parametrize("case", FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_a_scenario_is_refused(case: dict[str, str], tmp_path: Path) -> None:
    """What is meant, and what would do, is said of it as a whole."""
    text = case["file"].replace("DEEP", "[" * 2000 + "]" * 2000)
    assert any(case["issue"] in one for one in issues_of(tmp_path, text))


def test_an_unreadable_path_is_one_message(tmp_path: Path) -> None:
    """A typing mistake on the command line must not be a traceback."""
    with pytest.raises(StowageError, match="No such file or directory; name"):
        load_file(tmp_path / "none.yaml")
    with pytest.raises(StowageError, match=r"no folder with \*\.yaml files"):
        load_folder(tmp_path / "none")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StowageError, match="neither UTF-8 nor UTF-16 text"):
        load_file(binary)
