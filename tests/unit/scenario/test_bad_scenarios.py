"""Every way to write a scenario wrongly: the place that is named, and the way out."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.document import compose
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder

BAD: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((Path(__file__).parent / "bad").glob("*.yaml"))
}
HALVES, STEPS = (str(BAD[name].pop("scenario")) for name in ("halves", "steps"))
CASES = [
    pytest.param(scenario, case, id=name)
    for scenario, of in ((HALVES, "halves"), (STEPS, "steps"))
    for topic in BAD[of].values()
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


@pytest.mark.parametrize("scenario", [HALVES, STEPS], ids=["halves", "steps"])
def test_the_scenarios_that_all_cases_start_from_are_good(
    scenario: str, tmp_path: Path
) -> None:
    """Otherwise the cases would show the issues of their frame."""
    assert issues_of(tmp_path, scenario) == []


@pytest.mark.parametrize(("scenario", "case"), CASES)
def test_an_issue_is_named_with_its_place_and_the_way_out(
    scenario: str, case: dict[str, str], tmp_path: Path
) -> None:
    """An author should be able to fix the file without reading our code."""
    old, new = case["instead of"], case["there is"]
    assert scenario.count(old) == 1

    assert case["issue"] in issues_of(tmp_path, scenario.replace(old, new))


@pytest.mark.parametrize(
    ("scenario", "changes", "lines"),
    [
        (
            HALVES,
            {
                "count: 2": "count: -2",
                "replicas: 1": "replica: 1",
                "deterministic: {placed: 3}": "deterministic: {placed: 3, moved: 1}",
            },
            [4, 7, 7, 9],
        ),
        (
            STEPS,
            {
                "to: 3": "to: -3",
                "cordon: node-0": "cordn: node-0",
                "kind: Reservation": "kind: ",
                "margin: 2": "margin: 0",
            },
            [11, 16, 20, 26],
        ),
    ],
    ids=["halves", "steps"],
)
def test_all_issues_of_a_file_are_reported_at_once(
    scenario: str, changes: dict[str, str], lines: list[int], tmp_path: Path
) -> None:
    """Mending one issue at a time costs one run each."""
    for old, new in changes.items():
        scenario = scenario.replace(old, new)

    assert [int(one.split(":")[0]) for one in issues_of(tmp_path, scenario)] == lines


@pytest.mark.parametrize(
    ("line", "issue"),
    [
        ("catch: [events]", "'catch' has a meaning only with `steps`; write them,"),
        ("objects: {a: {}}", "'objects' has a meaning only with `steps`; write them,"),
    ],
)
def test_words_of_steps_have_no_place_without_them(
    line: str, issue: str, tmp_path: Path
) -> None:
    """They would do nothing, and their author would not learn it."""
    assert issues_of(tmp_path, f"{HALVES}{line}\n")[0].startswith(f"11:1: {issue}")


def test_a_version_may_stand_without_steps_too(tmp_path: Path) -> None:
    """A file that is rewritten need not lose it."""
    assert issues_of(tmp_path, f"version: 1\n{HALVES}") == []


@pytest.mark.parametrize(
    ("variant", "issues"),
    [
        ("{to: 4}", []),
        ("{to: few}", ["5:21: parameter 'to' takes values of type integer; write"]),
        ("{to: -1}", ["5:21: steps[2].scale.to must be at least 0, not -1"]),
        # The expectations are those of the default run.
        ("{to: 2}", ["25:21: the scenario has only 13", "28:17: the scenario has on"]),
    ],
)
def test_parameters_and_variants_work_in_steps(
    variant: str, issues: list[str], tmp_path: Path
) -> None:
    """One file serves a burst of 40 and one of 200."""
    head = f"variants:\n  other: {{set: {variant}}}\n"
    head += "parameters:\n  to: {type: integer, default: 3}\n"
    text = STEPS.replace("nodes:\n", f"{head}nodes:\n", 1)

    found = issues_of(tmp_path, text.replace("to: 3}", 'to: "${to}"}'))

    assert [one[: len(issue)] for one, issue in zip(found, issues, strict=False)] == (
        issues
    )
    assert bool(found) == bool(issues)


PARAMETERS = """\
parameters:
  size: {type: integer, default: 2}
variants:
  large: {set: {%s}}
nodes:
"""


@pytest.mark.parametrize(
    ("change", "issue"),
    [
        ("sise: 4", "6:17: no parameter is called 'sise'; did you mean 'size'?"),
        ("size: x", "6:23: parameter 'size' takes values of type integer; write one,"),
        ("size: 0", "6:23: workload[0].replicas must be at least 1, not 0"),
    ],
)
def test_issues_of_a_variant_are_named_where_its_values_stand(
    change: str, issue: str, tmp_path: Path
) -> None:
    """The place of use is right for the default run; the variant's value is wrong."""
    text = HALVES.replace("nodes:\n", PARAMETERS % change).replace(
        "replicas: 2", 'replicas: "${size}"'
    )

    assert any(found.startswith(issue) for found in issues_of(tmp_path, text))


def test_a_list_inside_a_text_is_refused(tmp_path: Path) -> None:
    """Only single values can be part of a text."""
    text = HALVES.replace(
        "nodes:\n", "parameters:\n  a: {type: list, default: [x]}\nnodes:\n"
    ).replace("name: web", 'name: "web-${a}"')

    assert issues_of(tmp_path, text)[0] == (
        "8:12: parameter 'a' is no single value and cannot stand inside a text; "
        "use ${a} alone"
    )


def test_an_alias_that_contains_itself_is_refused(tmp_path: Path) -> None:
    """YAML allows it; reading it would never end."""
    (issue,) = issues_of(tmp_path, "name: &a [*a]\n")
    assert "an alias contains itself" in issue


def test_aliases_that_multiply_are_refused_before_they_are_written_out(
    tmp_path: Path,
) -> None:
    """Twelve short lines stood for more values than there is memory for."""
    levels = "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 13)
    )
    (issue,) = issues_of(tmp_path, f"name: a/b\na0: &a0 [x]\n{levels}")

    assert issue.startswith("6:35: up to *a3 the aliases of this file stand for ")
    assert issue.endswith(
        " values, of at most 10,000; write the values out, or leave some away"
    )


def test_aliases_that_are_used_often_are_not_refused(tmp_path: Path) -> None:
    """A label or a setting that a thousand steps share is what aliases are for."""
    text = "a: &a {b: c, d: [e, f]}\n" + "".join(f"x{n}: *a\n" for n in range(1000))
    path = tmp_path / "many.yaml"

    root, issues = compose(path, text)

    assert root is not None
    assert not issues


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: " + "[" * 5000, "1:45"),
        ("a: &a " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 20 + "*a", "2:"),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_refused(
    text: str, place: str, tmp_path: Path
) -> None:
    """The parser would give up with an error of its own at a thousand."""
    (issue,) = issues_of(tmp_path, text)

    assert issue.startswith(place)
    assert "nested more than 40 deep" in issue


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """It parses as nothing, which is no mapping."""
    assert issues_of(tmp_path, "# nothing\n")[0].startswith("1:1: the file is empty;")


def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    """A list of scenarios in one file is a natural guess."""
    assert "1:1: the scenario must be a mapping, not a list" in issues_of(
        tmp_path, "- name: a/b\n"
    )


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
