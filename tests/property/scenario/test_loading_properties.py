import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.yaml_file import Issue, ScenarioIssuesError

STEPS = yaml.safe_load(Path(__file__).with_name("steps.yaml").read_text())
REPLAY = {"replay": {"file": "none.jsonl", "speed": 2, "limit": 3}}
TRACED = {**STEPS, "steps": [*STEPS["steps"], REPLAY]}

values = st.one_of(
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from(["", "x", "${size}", "${no}", "4G", "web", "node-0", "a-${size}"]),
    st.sampled_from(["peak", None, [], [None], {}, {"a": None}]),
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value of a document."""
    if not isinstance(value, dict | list):
        return [place]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [place, *(p for key, v in inner for p in places(v, (*place, key)))]


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """Return a copy of a document with one value exchanged."""
    if not place:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(value[place[0]], place[1:], new)
    return copy


def issues_of(text: str) -> tuple[Issue, ...]:
    """Return what a file is refused for; nothing if it is a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test" / "case.yaml"
        path.parent.mkdir()
        path.write_text(text, "utf-8", errors="replace")
        try:
            load_file(path)
        except ScenarioIssuesError as error:
            return error.issues
    return ()


@st.composite
def spoilt(draw: st.DrawFn, document: Any) -> Any:
    """Draw a document of which up to three values were exchanged."""
    change = st.tuples(st.sampled_from(places(document)), values)
    changes = draw(st.lists(change, max_size=3))
    for place, value in sorted(changes, key=lambda change: -len(change[0])):
        document = put(document, place, value)
    return document


def test_the_documents_that_are_spoilt_are_good() -> None:
    """Otherwise one issue could hide all others."""
    assert issues_of(yaml.safe_dump(STEPS)) == ()


@pytest.mark.thorough
@examples(600)
@given(spoilt(STEPS) | spoilt(TRACED))
def test_any_value_anywhere_is_accepted_or_reported(document: Any) -> None:
    """No mistake of an author may end in a traceback, alone or beside another one."""
    issues = issues_of(yaml.safe_dump(document))

    assert all(issue.line >= 1 and issue.message for issue in issues)


# The first text waits for the schema, which takes longer on a busy machine.
@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_scenario_or_has_issues(text: str) -> None:
    """Half-written files are what editors save."""
    assert all(issue.line >= 1 and issue.message for issue in issues_of(text))
