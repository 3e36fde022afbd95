"""What pytest makes of scenario files, without a cluster."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SCENARIO = """\
name: topic/{name}
description: One pod on one node.
labels: [{label}]
parameters:
  replicas: {{type: integer, default: 1, description: Number of pods.}}
variants:
  two: {{set: {{replicas: 2}}}}
nodes:
  - {{count: 1, cpu: "4", memory: 4G}}
workload:
  - {{name: only, replicas: "${{replicas}}", cpu: 100m, memory: 1G}}
expect:
  deterministic:
    placed: ${{replicas}}
  optimizer:
    solves: 0
"""

CONFTEST = "from stowage_testbed.pytest.collection import pytest_collect_file"


def a_folder(pytester: pytest.Pytester, text: str) -> None:
    pytester.makeconftest(CONFTEST)
    folder = pytester.mkdir("topic")
    (folder / "single.yaml").write_text(text)


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_each_variant_is_a_test(pytester: pytest.Pytester) -> None:
    """A variant that fails must be named, and be runnable alone."""
    a_folder(pytester, SCENARIO.format(name="single", label="paper"))

    result = pytester.runpytest_inprocess("--collect-only", "-q")

    assert collected(result) == [
        "topic/single.yaml::default",
        "topic/single.yaml::two",
    ]


@pytest.mark.parametrize(
    ("marks", "count"),
    [
        ("stowage", 2),
        ("not stowage", 0),
        ("stowage(label='smoke')", 2),
        ("stowage(label='paper')", 0),
    ],
)
def test_scenarios_are_chosen_by_the_mark_and_their_labels(
    marks: str, count: int, pytester: pytest.Pytester
) -> None:
    """A project runs those apart that need a cluster, or only the quick ones."""
    a_folder(pytester, SCENARIO.format(name="single", label="smoke"))

    result = pytester.runpytest_inprocess("--collect-only", "-q", "-m", marks)

    assert len(collected(result)) == count


def test_a_invalid_file_is_named_with_line_and_no_traceback(
    pytester: pytest.Pytester,
) -> None:
    """The author of a scenario need not read our code to fix it."""
    a_folder(pytester, SCENARIO.format(name="single", label="smoke") + "surprise: 1\n")

    result = pytester.runpytest_inprocess("--collect-only", "-q")

    text = result.stdout.str()
    assert "single.yaml:17:" in text
    assert "surprise" in text
    assert "Traceback" not in text
    assert "collection.py" not in text


def test_without_opting_in_yaml_files_are_left_alone(
    pytester: pytest.Pytester,
) -> None:
    """The plugin is active in every project of the environment."""
    pytester.mkdir("topic").joinpath("single.yaml").write_text("not: ours\n")

    result = pytester.runpytest_inprocess("--collect-only", "-q")

    assert collected(result) == []


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ([], 0),
        (["topic"], 0),
        (["-m", "stowage(label='full')"], 2),
        (["topic/single.yaml"], 2),
        (["topic/single.yaml::two"], 1),
    ],
)
def test_long_scenarios_are_tests_only_when_they_are_asked_for(
    arguments: list[str], count: int, pytester: pytest.Pytester
) -> None:
    """`pytest scenarios` must not take hours."""
    a_folder(pytester, SCENARIO.format(name="single", label="full"))

    result = pytester.runpytest_inprocess("--collect-only", "-q", *arguments)

    assert len(collected(result)) == count
