"""Which scenario `@pytest.mark.stowage` means, and whose cluster a session gets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.pytest.scenarios import marked_scenario
from stowage_testbed.pytest.session_cluster import ClusterOptions, session_cluster
from stowage_testbed.scenario.catalogue import find_shipped_folder
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.starter import write_starter


def meant(tmp_path: Path, scenario: str = "", *words: str, **options: Any) -> Scenario:
    mark = pytest.mark.stowage(*words, scenario=scenario, **options).mark
    return marked_scenario(mark, "test_it", tmp_path / "tests", tmp_path)


def test_files_lie_beside_tests_and_names_are_ours_or_its_own(tmp_path: Path) -> None:
    """A test moves with what it needs; names are as on the command line."""
    beside = write_starter("tests/web", tmp_path)
    own = write_starter("web/scale-up", tmp_path / "scenarios")
    shipped = find_shipped_folder() / "paper" / "figure-1.yaml"
    assert meant(tmp_path, "web.yaml").path == beside
    assert meant(tmp_path, "web/scale-up").path == own
    assert meant(tmp_path, "paper/figure-1").path == shipped
    # A mark stands for one run, the plain one unless it names a variant.
    assert meant(tmp_path, "paper/priorities").variant is None
    assert meant(tmp_path, "paper/priorities@mixed").variant == "mixed"
    assert meant(tmp_path, "paper/priorities", variant="mixed").variant == "mixed"


@pytest.mark.parametrize(
    ("words", "options", "issue"),
    [
        ((), {"variant": "x"}, "names no scenario"),
        (("paper/figure-1",), {"variants": "x"}, "unknown argument variants"),
        (("paper/priorities",), {"variant": "x"}, "no variant 'x', there are default"),
        (("paper/*",), {}, "several scenarios"),
        (("nothing.yaml",), {}, "folder of what names them"),
        (("paper/figure-11",), {}, "paper/figure-1"),
    ],
)
def test_a_mark_that_names_no_one_run_is_explained(
    words: tuple[str, ...], options: dict[str, Any], issue: str, tmp_path: Path
) -> None:
    """It says what to write in its place, or names that are close."""
    with pytest.raises(StowageError, match=issue):
        meant(tmp_path, *words, **options)


pytest_plugins = ["pytester"]


OPTIONS = ClusterOptions(None, keep=False, reuse=True, worker="", workers=1)


def test_every_worker_has_a_cluster_of_its_own() -> None:
    """Two workers on one cluster would sweep each other's pods."""
    names = [replace(OPTIONS, worker=word).own_name for word in ("", "gw0", "gw1")]
    assert names == ["pytest", "pytest-gw0", "pytest-gw1"]

    shared = replace(OPTIONS, named="mine", reuse=False, worker="gw1", workers=2)
    with pytest.raises(StowageError, match="--stowage-reuse"):
        session_cluster(shared).__enter__()


def test_a_cluster_in_use_is_left_to_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second pytest in another window must not sweep under the first."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    monkeypatch.delenv("STOWAGE_CLUSTERS", raising=False)
    layout.clusters_folder().mkdir()
    with (
        FileLock(layout.clusters_folder() / ".pytest.session"),
        pytest.raises(StowageError, match="leave --stowage-reuse out"),
    ):
        session_cluster(OPTIONS).__enter__()


def test_a_missing_cluster_is_one_line_of_an_error(pytester: pytest.Pytester) -> None:
    """Whoever mistypes a name reads one line."""
    pytester.makepyfile("def test_it(stowage_nodes): pass\n")
    result = pytester.runpytest_inprocess("--stowage-cluster", "nobodys")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*nobodys*"])
    assert "Traceback" not in result.stdout.str()
    assert "listing.py" not in result.stdout.str()
