"""Which scenario `@pytest.mark.stowage` means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.pytest.scenarios import marked_scenario
from stowage_testbed.scenario.catalogue import find_shipped_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.starter import write_starter


def meant(tmp_path: Path, scenario: str = "", *words: str, **options: Any) -> Scenario:
    mark = pytest.mark.stowage(*words, scenario=scenario, **options).mark
    return marked_scenario(mark, "test_it", tmp_path / "tests", tmp_path)


def test_a_file_lies_beside_the_test(tmp_path: Path) -> None:
    """A test moves with what it needs."""
    file = write_starter("tests/web", tmp_path)

    assert meant(tmp_path, "web.yaml").path == file


def test_a_name_is_the_projects_own_or_one_of_ours(tmp_path: Path) -> None:
    """As on the command line."""
    file = write_starter("web/scale-up", tmp_path / "scenarios")

    assert meant(tmp_path, "web/scale-up").path == file
    assert meant(tmp_path, "paper/figure-1").path == (
        find_shipped_folder() / "paper" / "figure-1.yaml"
    )


def test_the_plain_run_is_meant_unless_a_variant_is_named(tmp_path: Path) -> None:
    """A mark stands for one run."""
    assert meant(tmp_path, "paper/priorities").variant is None
    assert meant(tmp_path, "paper/priorities@mixed").variant == "mixed"
    assert meant(tmp_path, "paper/priorities", variant="mixed").variant == "mixed"


@pytest.mark.parametrize(
    ("words", "options", "issue"),
    [
        ((), {"variant": "x"}, "names no scenario"),
        (("a", "b"), {}, "names no scenario"),
        (("paper/figure-1",), {"variants": "x"}, "unknown argument variants"),
        (("paper/priorities",), {"variant": "x"}, "no variant 'x', there are default"),
        (("paper/*",), {}, "several scenarios"),
    ],
)
def test_a_mark_that_names_no_one_run_is_explained(
    words: tuple[str, ...], options: dict[str, Any], issue: str, tmp_path: Path
) -> None:
    """It says what to write in its place."""
    with pytest.raises(StowageError, match=issue):
        meant(tmp_path, *words, **options)


def test_a_missing_scenario_is_reported(tmp_path: Path) -> None:
    """With the path, or with names that are close."""
    with pytest.raises(StowageError, match="folder of what names them"):
        meant(tmp_path, "nothing.yaml")
    with pytest.raises(StowageError, match="paper/figure-1"):
        meant(tmp_path, "paper/figure-11")
