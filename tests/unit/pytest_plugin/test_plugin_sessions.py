"""Whose cluster a session of pytest gets, before there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.pytest.session_cluster import ClusterOptions, session_cluster

pytest_plugins = ["pytester"]


def options(
    *, named: str | None = None, reuse: bool = False, worker: str = "", workers: int = 1
) -> ClusterOptions:
    return ClusterOptions(
        named, keep=False, reuse=reuse, worker=worker, workers=workers
    )


def test_every_worker_has_a_cluster_of_its_own() -> None:
    """Two workers on one cluster would sweep each other's pods."""
    names = [options(worker=word).own_name for word in ("", "gw0", "gw1")]

    assert names == ["pytest", "pytest-gw0", "pytest-gw1"]


def test_workers_are_not_given_one_cluster() -> None:
    """The way to several is in the message."""
    shared = options(named="mine", worker="gw1", workers=2)

    with pytest.raises(StowageError, match="--stowage-reuse"):
        session_cluster(shared).__enter__()


def test_a_cluster_in_use_is_left_to_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second pytest in another window must not sweep under the first."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    layout.clusters_folder().mkdir()
    with (
        FileLock(layout.clusters_folder() / ".pytest.session"),
        pytest.raises(StowageError, match="leave --stowage-reuse out"),
    ):
        session_cluster(options(reuse=True)).__enter__()


def test_a_missing_cluster_is_reported_without_a_traceback(
    pytester: pytest.Pytester,
) -> None:
    """Whoever mistypes a name reads one line."""
    pytester.makepyfile("def test_it(stowage_nodes): pass\n")

    result = pytester.runpytest_inprocess("--stowage-cluster", "nobodys")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*nobodys*"])
    assert "Traceback" not in result.stdout.str()
    assert "listing.py" not in result.stdout.str()
