"""The map from folders to tests for the night is complete."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
TESTS: dict[str, list[str]] = yaml.safe_load((ROOT / "tests/touched.yaml").read_text())
NIGHTLY = re.compile(r"pytest\.mark\.nightly|mark\.nightly")


def test_every_folder_of_the_checkout_is_mapped() -> None:
    """A new folder would otherwise wait for the night in silence."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    folders = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}

    assert {one for one in folders if not one.startswith(".")} <= set(TESTS)
    assert [one for one in TESTS if not (ROOT / one).is_dir()] == []


def test_every_test_for_the_night_belongs_to_a_folder() -> None:
    """What no change brings forward is found red by somebody who changed nothing."""
    mapped = {path for paths in TESTS.values() for path in paths}
    nightly = {
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("test_*.py")
        if NIGHTLY.search(path.read_text("utf-8")) and path != Path(__file__)
    }

    assert [str(one) for one in nightly if not mapped & {str(one), *(str(folder) for folder in one.parents)}] == []
    assert [one for one in mapped if not (ROOT / one).exists()] == []
