"""Whose a cluster is, and which ones are leftovers; no control plane needed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from stowage_testbed.base.child import log_tail
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.claim import claim_cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    ETCD,
    has_ended,
    log_file,
    pid_file,
)
from stowage_testbed.cluster.listing import find_cluster, list_clusters, purge_clusters
from stowage_testbed.cluster.owner import Owner, write_owner


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of clusters in an empty cache."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    return tmp_path / "clusters"


def a_cluster(clusters: Path, name: str = "one") -> tuple[Path, Owner]:
    folder = clusters / name
    return folder, claim_cluster(folder, None, claim_id=name)


def of_a_dead_process(folder: Path, owner: Owner) -> None:
    write_owner(folder, replace(owner, started_s=1.0))


def kept_and_running(folder: Path, owner: Owner) -> None:
    write_owner(folder, owner.as_kept())
    # Stands for the API server: it need only be alive.
    pid_file(folder, API_SERVER).write_text(str(os.getpid()))


def test_a_name_in_use_is_refused_with_the_owners_id(clusters: Path) -> None:
    """Two runs with one name would stop each other's control plane."""
    a_cluster(clusters)

    with pytest.raises(StowageError, match=f"process {os.getpid()}"):
        a_cluster(clusters)


def test_a_cluster_that_is_kept_is_not_replaced(clusters: Path) -> None:
    """The user may have worked in it for hours."""
    kept_and_running(*a_cluster(clusters))

    with pytest.raises(StowageError, match="stowage down one"):
        a_cluster(clusters)


def test_a_refused_up_leaves_the_other_cluster_alone(clusters: Path) -> None:
    """Cleaning up after a failed start must not clean up somebody else's."""
    folder, owner = a_cluster(clusters)
    kept_and_running(folder, owner)
    cluster = KwokBinaryCluster("one")

    with pytest.raises(StowageError, match="is up already"):
        cluster.up()
    cluster.down()

    assert folder.is_dir()


def test_a_leftover_of_the_same_name_is_replaced(clusters: Path) -> None:
    """Running again after a kill must simply work."""
    folder, owner = a_cluster(clusters)
    (folder / "old").touch()
    of_a_dead_process(folder, owner)

    a_cluster(clusters)

    assert not (folder / "old").exists()


def test_purge_removes_leftovers_alone(clusters: Path) -> None:
    """Dead owners, records that cannot be read, kept clusters that do not run."""
    of_a_dead_process(*a_cluster(clusters, "dead"))
    (clusters / "bare").mkdir()
    (clusters / ".claim-killed").mkdir()
    stopped, owner = a_cluster(clusters, "stopped")
    write_owner(stopped, owner.as_kept())
    kept_and_running(*a_cluster(clusters, "kept"))
    a_cluster(clusters, "mine")

    assert purge_clusters() == ["bare", "dead", "stopped"]

    assert [entry.name for entry in list_clusters()] == ["kept", "mine"]
    assert not (clusters / ".claim-killed").exists()


def test_the_list_shows_whose_each_is(clusters: Path) -> None:
    """Before something is removed, one wants to know."""
    kept_and_running(*a_cluster(clusters, "kept"))
    a_cluster(clusters, "mine")
    of_a_dead_process(*a_cluster(clusters, "dead"))

    states = {entry.name: (entry.state, entry.owner_pid) for entry in list_clusters()}

    assert states == {
        "kept": ("up", None),
        "mine": ("owned", os.getpid()),
        "dead": ("leftover", None),
    }


def test_a_missing_cluster_is_answered_with_those_that_are_there(
    clusters: Path,
) -> None:
    """Most often the name was mistyped."""
    a_cluster(clusters, "one")

    with pytest.raises(StowageError, match="there are one"):
        find_cluster("two")


def test_ports_of_clusters_that_are_starting_differ(clusters: Path) -> None:
    """Neither has bound anything yet."""
    _, first = a_cluster(clusters, "one")
    _, second = a_cluster(clusters, "two")

    assert not set(first.ports.all()) & set(second.ports.all())


def test_a_component_has_ended_only_if_it_was_started(clusters: Path) -> None:
    """Else a slow start looks like a failure."""
    folder, _ = a_cluster(clusters)

    pid_file(folder, API_SERVER).write_text(str(2**22 + 1))  # above the kernel's limit

    assert has_ended(folder, API_SERVER)
    assert not has_ended(folder, ETCD)


def test_a_log_tail_is_short_and_has_no_empty_lines(clusters: Path) -> None:
    """It goes into an error message."""
    folder, _ = a_cluster(clusters)
    log_file(folder, ETCD).write_text("\n".join(f"line {i}\n" for i in range(100)))

    assert log_tail(log_file(folder, ETCD), 2) == ["line 98", "line 99"]
    assert log_tail(log_file(folder, API_SERVER)) == []
