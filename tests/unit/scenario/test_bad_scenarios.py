"""Every way to write a scenario wrongly: the place that is named, and the way out."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.document import compose
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder

FOLDER = Path(__file__).with_name("bad")
BAD: dict[str, dict[str, Any]] = {
    name: yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    for name in ("halves", "steps", "files", "several", "variants")
}
FILES, SEVERAL, VARIANTS = map(BAD.pop, ("files", "several", "variants"))
HALVES, STEPS = (str(one.pop("scenario")) for one in BAD.values())
CASES = [
    pytest.param(scenario, case, id=name)
    for scenario, topics in zip((HALVES, STEPS), BAD.values(), strict=True)
    for topic in topics.values()
    for name, case in topic.items()
]


def issues_of(tmp_path: Path, text: str) -> list[str]:
    """Return the issues of a file as ``line:column: message``; none if it is good."""
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    try:
        load_file(path)
    except ScenarioIssuesError as error:
        lines = str(error).splitlines()[1:]
        return [line.removeprefix(f"  {path}:") for line in lines]
    return []


@pytest.mark.parametrize(
    "scenario", [HALVES, STEPS, f"version: 1\n{HALVES}"], ids=["halves", "steps", "a version without steps"]
)
def test_the_scenarios_that_all_cases_start_from_are_good(scenario: str, tmp_path: Path) -> None:
    """Otherwise the cases would show the issues of their frame."""
    assert issues_of(tmp_path, scenario) == []


@pytest.mark.parametrize(("scenario", "case"), CASES)
def test_an_issue_is_named_with_its_place_and_the_way_out(scenario: str, case: dict[str, str], tmp_path: Path) -> None:
    """An author should be able to fix the file without reading our code."""
    old, new = case["instead of"], case["there is"]
    assert scenario.count(old) == 1

    assert case["issue"] in issues_of(tmp_path, scenario.replace(old, new))


@pytest.mark.parametrize(("scenario", "of"), [(HALVES, "halves"), (STEPS, "steps")])
def test_all_issues_of_a_file_are_reported_at_once(scenario: str, of: str, tmp_path: Path) -> None:
    """Mending one issue at a time costs one run each."""
    for old, new in SEVERAL[of]["changes"].items():
        scenario = scenario.replace(old, new)
    lines = [int(one.split(":")[0]) for one in issues_of(tmp_path, scenario)]

    assert lines == SEVERAL[of]["lines"]


@pytest.mark.parametrize(("of", "change"), [(of, one) for of in ("halves", "steps") for one in VARIANTS[of]])
def test_issues_of_a_variant_are_named_where_its_values_stand(of: str, change: str, tmp_path: Path) -> None:
    """The place of use is right for the default run; the variant's value is wrong."""
    text = VARIANTS["text"].replace("CHANGE", change)
    text = {"halves": HALVES, "steps": STEPS}[of].replace("nodes:\n", text, 1)
    for used in ("replicas: 2", "to: 3"):
        text = text.replace(used, used[:-1] + '"${size}"')
    found, issues = issues_of(tmp_path, text), VARIANTS[of][change]

    assert bool(found) == bool(issues)
    for issue in issues:
        assert [one for one in found if one.startswith(issue)]


@pytest.mark.parametrize("case", FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_a_scenario_is_refused(case: dict[str, str], tmp_path: Path) -> None:
    """Before any of it is written out, and with the place at which that is seen."""
    assert any(case["issue"] in one for one in issues_of(tmp_path, case["file"]))


def test_aliases_that_are_used_often_are_not_refused(tmp_path: Path) -> None:
    """A label or a setting that a thousand steps share is what aliases are for."""
    text = "a: &a {b: c, d: [e, f]}\n" + "".join(f"x{n}: *a\n" for n in range(1000))

    root, issues = compose(tmp_path / "many.yaml", text)

    assert (root is not None, list(issues)) == (True, [])


def test_an_unreadable_path_is_one_message(tmp_path: Path) -> None:
    """A typing mistake on the command line must not be a traceback."""
    with pytest.raises(StowageError, match="No such file or directory; name"):
        load_file(tmp_path / "none.yaml")
    with pytest.raises(StowageError, match=r"no folder with \*\.yaml files"):
        load_folder(tmp_path / "none")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StowageError, match="not UTF-8 text"):
        load_file(binary)
