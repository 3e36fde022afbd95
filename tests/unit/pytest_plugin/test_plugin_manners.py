"""What an installed plugin adds to the pytest of a project, which may not use it."""

import re

import cel  # noqa: F401 - pytester imports anew what is not imported yet, and this can be imported only once
import pytest

pytest_plugins = ["pytester"]

LISTS = {
    "--fixtures": r"^(\w+)(?: \[|$| --)",
    "--markers": r"^@pytest\.mark\.(\w+)",
    "--help": r"^ {2,4}(-[-\w]+|\w+ \()",
}

FAKE_CLUSTER = """
from contextlib import contextmanager
import pytest

class Environment:
    def __init__(self):
        self.brought = []

    @contextmanager
    def test(self, fixtures):
        there = list(self.brought)
        yield
        self.brought = there

@pytest.fixture(scope="session")
def stowage_cluster():
    return "a cluster"

@pytest.fixture(scope="session")
def _stowage_environment(stowage_cluster):
    return Environment()

@pytest.fixture(scope="module")
def lasting(_stowage_environment):
    _stowage_environment.brought.append("lasting")

@pytest.fixture
def own(_stowage_environment):
    _stowage_environment.brought.append("own")
"""

SWEPT_TESTS = """
import pytest

def test_brings_by_a_fixture(own, lasting, stowage_cluster, request):
    environment = request.getfixturevalue("_stowage_environment")
    assert environment.brought == ["lasting", "own"]

def test_brings_by_other_means(lasting, stowage_cluster, request):
    environment = request.getfixturevalue("_stowage_environment")
    assert environment.brought == ["lasting"]
    environment.brought.append("stray")

def test_finds_nothing_else(_stowage_environment):
    assert _stowage_environment.brought == ["lasting"]
"""


@pytest.mark.parametrize("listing", LISTS)
def test_every_name_begins_with_ours(listing: str, pytester: pytest.Pytester) -> None:
    """`apply` or `smoke` may be a name of the project's own."""

    def names(*options: str) -> set[str]:
        result = pytester.runpytest_inprocess(listing, "-v", *options)
        return set(re.findall(LISTS[listing], result.stdout.str(), re.M))

    added = names() - names("-p", "no:stowage")

    assert added
    assert [name for name in added if not name.lstrip("-_").startswith("stowage")] == []


def test_a_test_without_a_cluster_is_left_alone(pytester: pytest.Pytester) -> None:
    """The plugin is active in every project, whose YAML files are its own."""
    (pytester.path / "note.yaml").write_text("not: ours\n")
    pytester.makepyfile(
        "import sys\n\n"
        "def test_it(request):\n"
        "    assert not [f for f in request.fixturenames if 'stowage' in f]\n"
        "    assert 'kubernetes' not in sys.modules\n"
        "    rooms = {m for m in sys.modules if m.startswith('stowage_testbed.')}\n"
        "    assert max(rooms, key=len) == 'stowage_testbed.pytest.plugin'\n"
        "    assert len(rooms) == 2\n"
    )

    result = pytester.runpytest_subprocess("-q")

    result.assert_outcomes(passed=1)


def test_what_a_test_brings_is_swept_after_it(pytester: pytest.Pytester) -> None:
    """What its own fixtures bring too; what wider ones brought before stays."""
    pytester.makeconftest(FAKE_CLUSTER)
    pytester.makepyfile(SWEPT_TESTS)
    result = pytester.runpytest_inprocess("-q", "-p", "no:randomly")
    result.assert_outcomes(passed=3)


SCENARIO = """\
version: 1
name: topic/single
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
steps:
  - apply: only
  - wait: {{for: bound}}
expect:
  end:
    placed: ${{replicas}}
"""

CONFTEST = "from stowage_testbed.pytest.collection import pytest_collect_file"


def collected(pytester: pytest.Pytester, text: str, *arguments: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    (pytester.mkdir("topic") / "single.yaml").write_text(text)
    return pytester.runpytest_inprocess("--collect-only", "-q", *arguments)


def test_an_invalid_file_is_told_without_a_traceback(pytester: pytest.Pytester) -> None:
    """The author of a scenario need not read our code to fix it."""
    result = collected(pytester, SCENARIO.format(label="smoke") + "surprise: 1\n")
    text = result.stdout.str()
    assert "single.yaml:19:" in text
    assert "surprise" in text
    assert "Traceback" not in text
    assert "collection.py" not in text


DEFAULT, TWO = (f"topic/single.yaml::{name}" for name in ("default", "two"))


@pytest.mark.parametrize(
    ("label", "arguments", "tests"),
    [
        ("paper", [], [DEFAULT, TWO]),
        # A project runs those apart that need a cluster, or only the quick ones.
        ("smoke", ["-m", "not stowage"], []),
        ("smoke", ["-m", "stowage(label='smoke')"], [DEFAULT, TWO]),
        ("smoke", ["-m", "stowage(label='paper')"], []),
        # `pytest scenarios` must not take hours.
        ("full", [], []),
        ("full", ["topic"], []),
        ("full", ["topic/single.yaml"], [DEFAULT, TWO]),
        ("full", [TWO], [TWO]),
    ],
)
def test_each_variant_is_a_test_unless_it_takes_long_and_was_not_asked_for(
    label: str, arguments: list[str], tests: list[str], pytester: pytest.Pytester
) -> None:
    """A variant that fails must be named, and be runnable alone."""
    result = collected(pytester, SCENARIO.format(label=label), *arguments)
    assert [line for line in result.outlines if "::" in line] == tests
