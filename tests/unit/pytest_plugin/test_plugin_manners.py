"""What an installed plugin adds to the pytest of a project that does not use it."""

from __future__ import annotations

import re
import subprocess
import sys

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

@pytest.mark.parametrize("attempt", [1, 2])
def test_brings_by_a_fixture(attempt, own, lasting, stowage_cluster, request):
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
def test_every_name_begins_with_that_of_the_project(
    listing: str, pytester: pytest.Pytester
) -> None:
    """`apply` or `smoke` may be a name of the project's own."""

    def names(*options: str) -> set[str]:
        result = pytester.runpytest_inprocess(listing, "-v", *options)
        return set(re.findall(LISTS[listing], result.stdout.str(), re.M))

    added = names() - names("-p", "no:stowage")

    assert added
    assert [name for name in added if not name.lstrip("-_").startswith("stowage")] == []


def test_a_test_without_a_cluster_is_left_alone(pytester: pytest.Pytester) -> None:
    """The plugin is active in every project of the environment."""
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


def test_the_plugin_is_light() -> None:
    """Every pytest of the environment pays for what the plugin imports."""
    code = (
        "import sys, stowage_testbed.pytest.plugin; "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('kubernetes', 'yaml', 'ortools', 'grpc', 'rich')])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "[]"


def test_options_and_mark_are_explained(pytester: pytest.Pytester) -> None:
    """Where other projects look for them; who keeps a cluster can get rid of it."""
    options = pytester.runpytest_inprocess("--help")
    marks = pytester.runpytest_inprocess("--markers")

    options.stdout.fnmatch_lines(["*--stowage-keep-cluster*"])
    options.stdout.fnmatch_lines(["*--stowage-reuse*", "*stowage down pytest*"])
    options.stdout.fnmatch_lines(["*--stowage-results=DIR*"])
    marks.stdout.fnmatch_lines(["@pytest.mark.stowage(scenario=None*"])


def test_the_mark_is_known_to_strict_projects(pytester: pytest.Pytester) -> None:
    """Many run with --strict-markers."""
    pytester.makepyfile(
        "import pytest\n\n"
        '@pytest.mark.stowage(scenario="paper/figure-1")\n'
        "def test_it(): pass\n"
    )

    found = pytester.runpytest_inprocess("--strict-markers", "--collect-only", "-q")

    assert found.ret == 0


def test_what_a_test_brings_is_swept_after_it(pytester: pytest.Pytester) -> None:
    """What its own fixtures bring too; what wider ones brought before stays."""
    pytester.makeconftest(FAKE_CLUSTER)
    pytester.makepyfile(SWEPT_TESTS)

    result = pytester.runpytest_inprocess("-q", "-p", "no:randomly")

    result.assert_outcomes(passed=4)
