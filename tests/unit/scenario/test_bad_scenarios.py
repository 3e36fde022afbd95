"""Every way to write a scenario wrongly: the place that is named, and the way out."""

from pathlib import Path

import pytest

from stowage_testbed.errors import StowageError
from stowage_testbed.scenario.document import compose
from stowage_testbed.scenario.errors import ScenarioIssuesError
from stowage_testbed.scenario.load import load_file, load_folder

GOOD = """\
name: test/case
description: A small scenario.
nodes:
  - {count: 2, cpu: "4", memory: 4G}
workload:
  - {name: web, replicas: 2, cpu: 100m, memory: 1G}
  - {name: db, replicas: 1, cpu: 100m, memory: 2G}
expect:
  deterministic: {placed: 3}
  optimizer: {placed: 3}
"""


def issues_of(tmp_path: Path, text: str) -> list[str]:
    """Return the issues of a file as ``line:column: message``."""
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    with pytest.raises(ScenarioIssuesError) as caught:
        load_file(path)
    assert str(caught.value).splitlines()[1].startswith(f"  {path}:")
    return [str(issue).removeprefix(f"{path}:") for issue in caught.value.issues]


WEB = "{name: web, replicas: 2, cpu: 100m, memory: 1G}"
DB = "{name: db, replicas: 1, cpu: 100m, memory: 2G}"
NODE = '{count: 2, cpu: "4", memory: 4G}'
BEFORE = "deterministic: {placed: 3}"
AFTER = "optimizer: {placed: 3}"

CASES = {
    "an unknown key at the top": (
        "workload:",
        "arival: burst\nworkload:",
        "5:1: unknown key 'arival' in the scenario; did you mean 'arrival'?",
    ),
    "an unknown key of a workload": (
        WEB,
        "{name: web, replica: 2, replicas: 2}",
        "6:17: unknown key 'replica' in workload[0]; did you mean 'replicas'?",
    ),
    "an unknown key that resembles none": (
        NODE,
        '{count: 2, cpu: "4", memory: 4G, zzz: 1}',
        "4:38: unknown key 'zzz' in nodes[0]; known are prefix, count, cpu, memory, "
        "pods, labels, taints, zones",
    ),
    "an unknown field of a pod": (
        WEB,
        "{name: web, replicas: 2, pod: {nodeSelektor: {a: b}}}",
        "6:36: unknown key 'nodeSelektor' in workload[0].pod; did you mean "
        "'nodeSelector'?",
    ),
    "a missing key": (
        WEB,
        "{name: web, cpu: 100m}",
        "6:5: workload[0] lacks the key 'replicas'; add it. Number of equal pods.",
    ),
    "a negative number of pods": (
        WEB,
        "{name: web, replicas: -2}",
        "6:27: workload[0].replicas must be at least 1, not -2",
    ),
    "a negative request": (
        WEB,
        "{name: web, replicas: 2, memory: -1G}",
        "6:38: workload[0].memory: '-1G' is negative; write 0 or more",
    ),
    "a node without room": (
        NODE,
        "{count: 2, cpu: 0, memory: 4G}",
        "4:21: nodes[0].cpu must be more than 0, as in 500m; not 0",
    ),
    "a unit that Kubernetes does not know": (
        NODE,
        '{count: 2, cpu: "4", memory: 4GB}',
        "4:34: nodes[0].memory: '4GB' is not a quantity; write a number and one of "
        "m, k, M, G, T, Ki, Mi, Gi, Ti",
    ),
    "a wrong type": (
        WEB,
        "{name: web, replicas: two}",
        "6:27: workload[0].replicas must be a whole number, not the text 'two'",
    ),
    "a number where text is wanted": (
        WEB,
        "{name: web, replicas: 2, labels: {version: 1}}",
        "6:48: workload[0].labels.version must be text, not 1; put it in quotes",
    ),
    "an empty section": (
        f"nodes:\n  - {NODE}",
        "nodes:",
        "3:7: nodes must be a list, not nothing",
    ),
    "an empty list": (
        f"nodes:\n  - {NODE}",
        "nodes: []",
        "3:8: nodes is empty; fill it or remove it",
    ),
    "a word that is no choice": (
        "workload:",
        "arrival: sequentially\nworkload:",
        "5:10: arrival cannot be the text 'sequentially'; did you mean 'sequential'?",
    ),
    "a name that Kubernetes refuses": (
        WEB,
        "{name: Web_1, replicas: 2}",
        "6:12: workload[0].name must be of lower-case letters, digits and '-', at most "
        "63 long, as in web-1; not the text 'Web_1'",
    ),
    "an empty image name": (
        WEB,
        '{name: web, replicas: 2, image: ""}',
        "6:37: workload[0].image is empty; fill it or remove it",
    ),
    "a container without an image name": (
        WEB,
        "{name: web, replicas: 2, pod: {containers: [{name: a}]}}",
        "6:49: workload[0].pod.containers[0] lacks the key 'image'; add it. "
        "Image name; nothing is pulled on a fake node.",
    ),
    "a request that is no amount": (
        WEB,
        "{name: web, replicas: 2, pod: {containers: [{name: a, image: b, "
        "resources: {requests: {gpu: none}}}]}}",
        "6:97: workload[0].pod.containers[0].resources.requests.gpu: 'none' is not a "
        "quantity; write a number and one of m, k, M, G, T, Ki, Mi, Gi, Ti",
    ),
    "requests beside own containers": (
        WEB,
        "{name: web, replicas: 2, cpu: 1, pod: {containers: [{name: a, image: b}]}}",
        "6:30: workload 'web' has its own `pod.containers`; move 'cpu' into one of "
        "them",
    ),
    "a workload named twice": (
        "name: db,",
        "name: web,",
        "7:12: workload 'web' stands already in line 6; choose another name",
    ),
    "a key written twice": (
        WEB,
        "{name: web, replicas: 2, replicas: 3}",
        "6:30: key 'replicas' stands already in line 6; keep one",
    ),
    "two kinds of nodes under one name": (
        NODE,
        f"{NODE}\n  - {NODE}",
        "5:5: node 'node-0' comes already from line 4; give one of them another prefix",
    ),
    "a pod larger than any node": (
        WEB,
        "{name: web, replicas: 2, cpu: 100m, memory: 5G}",
        "6:5: a pod of workload 'web' (cpu 100m, memory 5G) is larger than any node "
        "(cpu 4, memory 4G); make it smaller, a node larger, or write "
        "`allow_unplaceable: true` under `expect`",
    ),
    "a workload that is never applied": (
        "expect:",
        "order: [web]\nexpect:",
        "7:12: workload 'db' is not in `order` and never applied; add or remove it",
    ),
    "an order of unknown workloads": (
        "expect:",
        "order: [web, db, wep]\nexpect:",
        "8:18: no workload is called 'wep'; did you mean 'web'?",
    ),
    "a workload ordered twice": (
        "expect:",
        "order: [web, db, web]\nexpect:",
        "8:18: workload 'web' is named twice; keep one",
    ),
    "no workload at all": (
        f"workload:\n  - {WEB}\n  - {DB}\n",
        "",
        "1:1: the scenario lacks 'workload'; write it, or an `instance`",
    ),
    "an instance beside nodes": (
        "workload:",
        "instance: {seed: 1, nodes: 4, pods_per_node: 4, priorities: 1, usage: 1}\n"
        "workload:",
        "3:1: `instance` brings nodes and workload; remove 'nodes' or it",
    ),
    "an unknown workload that is expected": (
        BEFORE,
        "deterministic: {pending: {wep: 1}}",
        "9:29: no workload is called 'wep'; did you mean 'web'?",
    ),
    "an unknown node that is expected": (
        BEFORE,
        "deterministic: {placements: {db: [node-2]}}",
        "9:37: no node is called 'node-2'; did you mean 'node-1'?",
    ),
    "more pods expected than there are": (
        AFTER,
        "optimizer: {placed: 4}",
        "10:23: the scenario has only 3 pods; expect no more of them",
    ),
    "more pods of a priority expected than there are": (
        AFTER,
        "optimizer: {placed_by_priority: {7: {min: 1}}}",
        "10:39: priority 7 has only 0 pods; expect no more of them",
    ),
    "bounds that nothing can meet": (
        AFTER,
        "optimizer: {moves: {min: 3, max: 1}}",
        "10:22: min 3 is above max 1; exchange them",
    ),
    "bounds of a wrong type": (
        AFTER,
        "optimizer: {moves: few}",
        "10:22: expect.optimizer.moves must be a whole number or a mapping, not the "
        "text 'few'",
    ),
    "an unknown bound": (
        AFTER,
        "optimizer: {moves: {most: 1}}",
        "10:23: unknown key 'most' in expect.optimizer.moves; known are min, max",
    ),
    "a utilisation above 1": (
        AFTER,
        "optimizer: {utilisation: {cpu: 87.5}}",
        "10:34: expect.optimizer.utilisation.cpu must be at most 1, not 87.5",
    ),
    "a name that is not the path": (
        "name: test/case",
        "name: test/other",
        "1:7: name 'test/other' does not match the file's path; call it 'test/case'",
    ),
    "a parameter in the name": (
        "name: test/case",
        'name: "${size}"',
        "1:7: name must be a topic and a behaviour, as in paper/figure-1; not the text "
        "'${size}'",
    ),
    "a parameter that is never used": (
        "nodes:",
        "parameters:\n  size: {type: integer, default: 1}\nnodes:",
        "4:3: parameter 'size' is never used; write ${size} or remove it",
    ),
    "a parameter that is not declared": (
        WEB,
        '{name: web, replicas: "${sise}"}',
        "6:27: no parameter is called 'sise'; declare it under `parameters`",
    ),
    "broken YAML": (
        WEB,
        "{name: web, replicas: 2",
        "7:5: this is not YAML: expected ',' or '}', but got '{'; check indentation "
        "and quotes",
    ),
}


def test_the_scenario_that_all_cases_start_from_is_good(tmp_path: Path) -> None:
    """Otherwise the cases would show the issues of their frame."""
    path = tmp_path / "test" / "case.yaml"
    path.parent.mkdir()
    path.write_text(GOOD, "utf-8")
    assert [scenario.scenario_id for scenario in load_file(path)] == ["test/case"]


@pytest.mark.parametrize("case", CASES)
def test_an_issue_is_named_with_its_place_and_the_way_out(
    case: str, tmp_path: Path
) -> None:
    """An author should be able to fix the file without reading our code."""
    old, new, issue = CASES[case]
    assert GOOD.count(old) == 1

    assert issue in issues_of(tmp_path, GOOD.replace(old, new))


def test_all_issues_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    """Mending one issue at a time costs one run each."""
    text = GOOD.replace("count: 2", "count: -2").replace("replicas: 1", "replica: 1")
    text = text.replace("{placed: 3}", "{placed: 3, moved: 1}", 1)

    lines = [int(issue.split(":")[0]) for issue in issues_of(tmp_path, text)]

    assert lines == [4, 7, 7, 9]


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
    text = GOOD.replace("nodes:\n", PARAMETERS % change).replace(
        "replicas: 2", 'replicas: "${size}"'
    )

    assert any(found.startswith(issue) for found in issues_of(tmp_path, text))


def test_a_list_inside_a_text_is_refused(tmp_path: Path) -> None:
    """Only single values can be part of a text."""
    text = GOOD.replace(
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
