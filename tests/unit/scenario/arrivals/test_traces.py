"""Traces of arrivals: what they become, and every issue with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amounts import asked

from stowage_testbed.scenario.arrivals.trace import (
    Template,
    TraceRow,
    list_pods,
    make_replay,
)
from stowage_testbed.scenario.arrivals.trace_file import read_trace
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.arriving import Replay

HEADER = "arrival_s,owner,cpu,memory,priority,replicas,lifetime_s\n"
SMALL = Template(asked(100, 10**9))


def a_file(tmp_path: Path, text: str, suffix: str = ".csv") -> Path:
    path = tmp_path / f"trace{suffix}"
    path.write_text(text, "utf-8")
    return path


def issues_of(path: Path) -> list[str]:
    return [f"{issue.line}: {issue.message}" for issue in read_trace(path).issues]


def test_a_row_is_read_with_its_defaults(tmp_path: Path) -> None:
    """Comments, empty lines and empty fields are for people."""
    text = f"# recorded\n{HEADER}\n0.5,web,100m,1G,,,\n2,job,1,2Gi,-5,3,1.5\n"

    assert read_trace(a_file(tmp_path, text)).rows == (
        TraceRow(0.5, "web", SMALL),
        TraceRow(2.0, "job", Template(asked(1000, 2 * 2**30), -5), 3, "", 1.5),
    )


def test_json_says_the_same_as_csv(tmp_path: Path) -> None:
    """Which of the two is a matter of the recorder's taste."""
    rows = [
        {"arrival_s": 0.5, "owner": "web", "cpu": "100m", "memory": "1G"},
        {"arrival_s": 2, "owner": "job", "cpu": 1, "memory": "2Gi", "priority": -5,
         "replicas": 3, "lifetime_s": 1.5, "pod": None},
    ]  # fmt: skip
    text = f"{HEADER}0.5,web,100m,1G,,,\n2,job,1,2Gi,-5,3,1.5\n"

    from_json = read_trace(a_file(tmp_path, json.dumps(rows), ".json"))

    assert from_json.rows == read_trace(a_file(tmp_path, text)).rows
    assert len(from_json.rows) == 2


def test_every_issue_of_a_csv_is_reported_at_once(tmp_path: Path) -> None:
    """A recorder with one mistake makes it in every row."""
    path = a_file(
        tmp_path,
        "arrival_s,owner,cpu,memory,replicas,pod,size\n"
        "-1,web,100m,1G,,,\n"
        "soon,Web,100x,1GB,0,,\n"
        "1,web,100m\n"
        "1,web,,1G,,,\n"
        "1,web,100m,1G,2,a,\n"
        "1,web,100m,1G,,,4\n",
    )

    assert issues_of(path) == [
        "4: 3 fields, the header has 7; fix one of them",
        "2: arrival_s must be seconds from the trace's start, 0 or more, not '-1'",
        "3: arrival_s must be seconds from the trace's start, 0 or more, not 'soon'",
        "3: owner must be a name of lower-case letters, digits and '-', as in web-1, "
        "not 'Web'",
        "3: cpu must be an amount, as in 100m, not '100x'",
        "3: memory must be an amount, as in 512Mi, not '1GB'",
        "3: replicas must be a whole number, 1 or more, not '0'",
        "5: field 'cpu' is missing; it is an amount, as in 100m",
        "6: `pod` names a single pod; leave `replicas` out, or the name",
        "7: unknown field 'size'; known are arrival_s, owner, cpu, memory, priority, "
        "replicas, pod, lifetime_s",
    ]


def test_issues_of_json_have_their_lines_too(tmp_path: Path) -> None:
    """Though a parser of JSON keeps none."""
    path = a_file(
        tmp_path,
        '[\n  {"arrival_s": 0, "owner": "a", "cpu": 1, "memory": "1G"},\n'
        '  {"arrival_s": true, "owner": 3, "cpu": [], "memory": "1G"},\n'
        '  "next",\n  {"arrival_s": 1}\n]\n',
        ".json",
    )

    lines = [int(issue.partition(":")[0]) for issue in issues_of(path)]

    assert sorted(lines) == [3, 3, 3, 4, 5, 5, 5]


@pytest.mark.parametrize(
    ("text", "suffix", "issue"),
    [
        ("", ".csv", "1: there is no header; begin with arrival_s,owner,cpu,memory,"),
        (HEADER, ".csv", "1: there are no arrivals; write at least one"),
        (f'{HEADER}1,"a', ".csv", "2: this is not CSV: unexpected end of data;"),
        ("[]", ".json", "1: there are no arrivals; write at least one"),
        ("{}", ".json", "1: a trace is a list of mappings; put the arrivals into"),
        ("[\n1,]", ".json", "2: this is not JSON: "),
    ],
)
def test_a_file_that_is_no_trace_is_one_message(
    text: str, suffix: str, issue: str, tmp_path: Path
) -> None:
    """Half-written files, and files of another kind."""
    (found,) = issues_of(a_file(tmp_path, text, suffix))

    assert found.startswith(issue)


def test_a_pod_is_named_by_owner_and_template(tmp_path: Path) -> None:
    """So that it is the same pod whatever else is replayed, and in what order."""
    big = Template(asked(2000, 10**9))
    rows = [
        TraceRow(1.0, "web", SMALL, replicas=2),
        TraceRow(0.0, "web", big),
        TraceRow(2.0, "web", SMALL),
        TraceRow(2.0, "job", SMALL, pod="first"),
    ]

    names = [pod.name for pod in list_pods(rows)]

    small, large = SMALL.template_id, big.template_id
    assert small != large
    assert names == [
        f"web-{large}-0", f"web-{small}-0", f"web-{small}-1", f"web-{small}-2",
        f"job-{small}-first",
    ]  # fmt: skip


def test_two_pods_of_one_name_are_an_issue(tmp_path: Path) -> None:
    """The second could not be created."""
    path = a_file(
        tmp_path,
        "arrival_s,owner,cpu,memory,pod\n1,web,1,1G,a\n0,web,1,1G,b\n3,web,1,1G,a\n",
    )

    (issue,) = issues_of(path)

    name = f"web-{Template(asked(1000, 10**9)).template_id}-a"
    assert issue == (f"4: pod '{name}' came already in line 2; give it another name")


def test_speed_and_limit_change_times_and_number() -> None:
    """A day can be replayed in an hour, or its first minutes only."""
    rows = [TraceRow(10.0, "a", SMALL, 2, lifetime_s=4.0), TraceRow(30.0, "a", SMALL)]

    pods = make_replay(rows, speed=2.0, limit=None)

    assert [pod.at_s for pod in pods] == [5.0, 5.0, 15.0]
    assert [pod.lifetime_s for pod in pods] == [2.0, 2.0, None]
    assert len(make_replay(rows, speed=1.0, limit=1)) == 1


SCENARIO = """\
version: 1
name: test/case
description: A trace on one node.
nodes: [{count: 1, cpu: "4", memory: 4G}]
steps:
  - replay: {file: trace.csv, speed: 2, limit: 2}
  - wait: {for: bound}
expect:
  end: {placed: 2, pending: {web: 0}}
"""


def a_scenario(tmp_path: Path, trace: str) -> Path:
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "trace.csv").write_text(trace)
    (folder / "case.yaml").write_text(SCENARIO)
    return folder / "case.yaml"


def test_a_scenario_needs_no_workload_beside_a_trace(tmp_path: Path) -> None:
    """Its owners stand in the place of workloads."""
    path = a_scenario(tmp_path, f"{HEADER}1,web,1,1G,7,5,\n")

    (scenario,) = load_file(path)

    replay = scenario.steps[1].action
    assert isinstance(replay, Replay)
    assert [(pod.owner, pod.at_s) for pod in replay.pods] == [("web", 0.5)] * 2
    assert scenario.pod_count == 2
    assert scenario.priorities == (7,)


def test_issues_of_the_trace_are_reported_with_those_of_the_scenario(
    tmp_path: Path,
) -> None:
    """Both files are the author's."""
    path = a_scenario(tmp_path, f"{HEADER}1,web,many,1G,,,\n")
    path.write_text(SCENARIO.replace("count: 1", "count: 0"))

    with pytest.raises(ScenarioIssuesError) as caught:
        load_file(path)

    places = [(issue.path.name, issue.line) for issue in caught.value.issues]
    assert places == [("case.yaml", 4), ("trace.csv", 2)]
