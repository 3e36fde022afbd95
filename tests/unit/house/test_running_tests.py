"""`ci/telling` and `ci/test`: nothing is silent for long, no half hides the other."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stowage_testbed.base.wait import HANG_S

CI = Path(__file__).parents[3] / "ci"

MAKE = """#!/bin/sh
echo "$2" >>calls
case $2 in
  further-tools) echo "tools: 4 s, 0 of 2 installed" >&2; exit ${TOOLS:-0} ;;
  test-go) exit ${GO:-0} ;;
esac
"""
PYTEST = """#!/bin/sh
echo "python $*" >>calls
exit ${PYTHON:-0}
"""


def telling(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CI / "telling", "building it", *command],
        cwd=folder,
        env={**os.environ, "TELL_EVERY_S": "0.01"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_says_nothing_is_told_of(tmp_path: Path) -> None:
    """On stderr, until the command ends by itself; its own words go where they went."""
    script = 'while ! grep -q "building it: 0 s" said; do :; done; echo done'

    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            [CI / "telling", "building it", "sh", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "TELL_EVERY_S": "0.01"},
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            check=False,
            timeout=HANG_S,
        )

    assert (done.returncode, done.stdout) == (0, "done\n")


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    """Else a build that failed would pass."""
    done = telling(tmp_path, "sh", "-c", "echo no >&2; exit 7")

    assert done.returncode == 7
    assert "no\n" in done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout whose make and pytest note that they were called."""
    (tmp_path / "ci").mkdir()
    shutil.copy2(CI / "test", tmp_path / "ci")
    for path, text in (("bin/make", MAKE), ("ci/test-python", PYTEST)):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("failing", "code"),
    [
        ({}, 0),
        ({"GO": "1"}, 1),
        ({"PYTHON": "2"}, 1),
        ({"TOOLS": "3"}, 1),
        ({"GO": "1", "PYTHON": "1", "TOOLS": "1"}, 1),
    ],
)
def test_all_tests_run_whatever_fails(
    checkout: Path, failing: dict[str, str], code: int
) -> None:
    """Who has broken Go wants to know what else is broken; it ends with all of it."""
    path = f"{checkout / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        [checkout / "ci" / "test"],
        env={**os.environ, "PATH": path, "PYTEST_ARGS": "-k one", **failing},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )

    assert done.returncode == code
    calls = (checkout / "calls").read_text().splitlines()
    assert sorted(calls) == ["further-tools", "python -k one", "test-go"]
    assert calls[-1] == "python -k one"
    parts = {"Go's tests": "GO", "further tools": "TOOLS", "Python's tests": "PYTHON"}
    for line, (name, variable) in zip(
        done.stdout.splitlines()[-3:], parts.items(), strict=True
    ):
        bad = failing.get(variable)
        how = f"FAILED (exit code {bad})" if bad else "passed"
        assert line.startswith(f"{name}: {how} in ")


@pytest.mark.parametrize("options", ["", "--cov --cov-report="])
def test_pytest_is_given_the_options_and_nothing_besides(
    checkout: Path, options: str
) -> None:
    """An empty argument is the root folder to pytest: it collected the scenarios."""
    shutil.copy2(CI / "test-python", checkout / "ci")
    for path, text in (
        ("ci/containers", "exit 1"),
        ("ci/coverage", f'echo "{options}"'),
        ("bin/python", "printf '<%s>' \"$@\""),
    ):
        (checkout / path).write_text(f"#!/bin/sh\n{text}\n")
        (checkout / path).chmod(0o755)

    done = subprocess.run(
        [checkout / "ci" / "test-python", "-k", "one"],
        env={**os.environ, "PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )

    given = done.stdout.split("<pytest>")[1]
    expected = ["--numprocesses", "2", *options.split(), "-k", "one"]
    assert given == "".join(f"<{one}>" for one in expected)
