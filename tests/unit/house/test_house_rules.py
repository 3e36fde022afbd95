"""The house's own rules: sizes, names and what must never be committed."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HARD_CAP_LINES = 500
MEDIAN_CAP_LINES = 150
GENERATED = re.compile(r"_pb2(_grpc)?\.pyi?$|\.pb\.go$")


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = [name for name in listing.stdout.split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def code_files() -> list[Path]:
    return [p for p in tracked("*.py", "*.go") if not GENERATED.search(p.name)]


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_the_hard_cap() -> None:
    """A file over the cap holds more than one concept."""
    long = {str(p.relative_to(ROOT)): lines(p) for p in code_files()}

    assert {n: k for n, k in long.items() if k > HARD_CAP_LINES} == {}


@pytest.mark.parametrize("room", ["optimizer", "testbed", "scheduler"])
def test_the_median_file_of_a_room_is_short(room: str) -> None:
    """Readers open one concept at a time; tests may be longer."""
    sizes = [
        lines(p)
        for p in code_files()
        if p.relative_to(ROOT).parts[0] == room and not p.name.endswith("_test.go")
    ]

    assert statistics.median(sizes) <= MEDIAN_CAP_LINES


def test_no_two_test_files_have_one_name() -> None:
    """Tests are collected by the file's name; a second of it stops a whole run."""
    names = Counter(p.name for p in tracked("tests/**/test_*.py"))

    assert [name for name, files in names.items() if files > 1] == []


def test_no_file_is_named_for_nothing() -> None:
    """A file named utils or helpers is a drawer, not a concept."""
    drawers = {"utils", "util", "helpers", "helper", "misc", "common"}

    assert [p for p in code_files() if {p.stem, p.parent.name} & drawers] == []


def test_the_top_level_is_fixed() -> None:
    """Readers know where to look; a new room is a decision, not an accident."""
    rooms = {p.relative_to(ROOT).parts[0] for p in tracked() if len(p.parts)}

    assert {r for r in rooms if not r.startswith(".")} <= {
        "pyproject.toml", "requirements.lock", "README.md", "Makefile", "LICENSE",
        "CHANGELOG.md", "CITATION.cff", "action.yml", "docs", "mkdocs.yml", "testbed",
        "optimizer", "scheduler", "scenarios", "benchmarks", "charts", "ci", "tests",
    }  # fmt: skip


def test_lock_files_carry_hashes_and_no_addresses() -> None:
    """An address in a lock file ties every user to one network."""
    for lock in tracked("*.lock"):
        text = lock.read_text(encoding="utf-8")
        pins = re.findall(r"^[a-z0-9][^\s=]*==", text, re.MULTILINE)

        assert pins, f"{lock.name} pins nothing"
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "--find-links" not in text


def test_no_test_sleeps() -> None:
    """A sleep is a guess about time; a wait states its condition."""
    pattern = re.compile(r"\btime\.(sleep|Sleep)\(")
    sleeping = [
        f"{p.relative_to(ROOT)}:{number}"
        for p in code_files()
        if p != ROOT / "testbed" / "stowage_testbed" / "base" / "clock.py"
        for number, line in enumerate(p.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]

    assert sleeping == []
